#pragma once

#if defined(__CUDACC__)
#include <gnstor/simt/cuda_executor.cuh>
namespace gnstor::host {
/// Runs kernels on the machine this translation unit is compiled for.
using executor = simt::cuda::executor;
}  // namespace gnstor::host
#else
#include <gnstor/simt_host/executor.hpp>
namespace gnstor::host {
/// Runs kernels on the machine this translation unit is compiled for.
using executor = simt::host::executor;
}  // namespace gnstor::host
#endif
