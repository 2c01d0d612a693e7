#pragma once
/// Functions of the CUDA driver, found through the runtime: nothing links against libcuda.

#if defined(GNSTOR_WITH_CUDA)

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace gnstor::host {

/// A driver's function by its name and the version of CUDA that has it so; null if there is none.
template <class Function>
Function driver_function(const char* name, unsigned version) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
  const cudaError_t outcome =
      cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result);
#else
  (void)version;
  const cudaError_t outcome = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
  if (outcome != cudaSuccess || result != cudaDriverEntryPointSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return reinterpret_cast<Function>(found);
}

}  // namespace gnstor::host

#endif
