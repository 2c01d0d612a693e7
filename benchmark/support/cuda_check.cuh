#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace gnstor::benchmarks {

/// Throws what went wrong in a CUDA call; `what` says what it was for.
inline void cuda_check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

}  // namespace gnstor::benchmarks
