#pragma once

#include <gnstor/host/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#if defined(GNSTOR_WITH_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace gnstor::host {

/// Throws `error` if this build or machine has no GPU, `input_error` if it has no GPU `device`.
void require_gpu(int device);

#if defined(GNSTOR_WITH_CUDA)

/// Throws `error` that names the operation if a CUDA call failed.
inline void cuda_check(cudaError_t outcome, const char* operation) {
  if (outcome != cudaSuccess) {
    throw error(std::string(operation) + ": " + cudaGetErrorString(outcome));
  }
}

/// Makes a device current for a scope. Throws as `require_gpu` where there is none.
class device_scope {
 public:
  explicit device_scope(int device) {
    const cudaError_t asked = cudaGetDevice(&before_);
    if (asked != cudaSuccess) require_gpu(device);
    cuda_check(asked, "asking for the current GPU");
    cuda_check(cudaSetDevice(device), "choosing a GPU");
  }
  device_scope(const device_scope&) = delete;
  device_scope& operator=(const device_scope&) = delete;
  ~device_scope() { (void)cudaSetDevice(before_); }

 private:
  int before_ = 0;
};
#endif

/// The number of GPUs this build can use: 0 without CUDA or without a device.
int gpu_count();

/// Multiprocessors of GPU `device`; 0 if there is no such GPU.
int multiprocessors(int device);

/// Bytes of GPU `device`'s memory that nobody has; 0 if there is no such GPU.
std::uint64_t free_memory(int device);

/// True if `address` lies in the memory of a GPU.
bool is_gpu_memory(const void* address);

/// Lets every GPU reach memory of this process that was mapped from a file, at its own address.
/// @par Result why it cannot; empty if it can, until `unpin`
std::string pin(void* data, std::size_t bytes);
void unpin(void* data) noexcept;

/// Prepares `client` and `node` (GPU numbers) to reach each other's memory; sets up what a kernel
/// that never ends needs. Throws `error` naming the knob that is missing.
void prepare_gpus(int client, int node);

}  // namespace gnstor::host
