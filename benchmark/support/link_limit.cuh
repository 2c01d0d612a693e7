#pragma once
/// What the hardware itself allows: SM loads from and stores to pinned host memory, and a request
/// ring without any protocol.

#include <cuda/atomic>
#include <cuda_runtime.h>

#include <cstdint>

namespace gnstor::benchmarks {

/// Copies pages of 4 KiB in scattered order, a warp a page, eight 16-byte accesses in flight a
/// lane.
/// @param pages a power of two
__global__ void copy_pages(const uint4* from, uint4* to, std::uint32_t pages, bool scatter) {
  const std::uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const std::uint32_t lane = threadIdx.x % 32;
  for (std::uint32_t p = warp; p < pages; p += gridDim.x * blockDim.x / 32) {
    const std::uint64_t q = (p * 2654435761ull) & (pages - 1);
    const std::uint64_t source = (scatter ? p : q) * 256;
    const std::uint64_t target = (scatter ? q : p) * 256;
    uint4 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = from[source + lane + 32 * k];
#pragma unroll
    for (int k = 0; k < 8; ++k) to[target + lane + 32 * k] = v[k];
  }
}

/// One request in flight: the client writes its number, the server's warp copies the page and
/// writes the number back.
struct bare_ring {
  alignas(128) std::uint32_t asked;
  alignas(128) std::uint32_t answered;
};

/// @par Callers one warp
__global__ void serve_ring(bare_ring* ring, const uint4* media, uint4* memory, std::uint32_t pages,
                           std::uint32_t requests) {
  cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system> asked(ring->asked);
  cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system> answered(ring->answered);
  for (std::uint32_t k = 1; k <= requests; ++k) {
    while (asked.load(cuda::memory_order_acquire) != k) {
    }
    const std::uint64_t q = (k * 2654435761ull) & (pages - 1);
    uint4 v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = media[q * 256 + threadIdx.x + 32 * j];
#pragma unroll
    for (int j = 0; j < 8; ++j) memory[threadIdx.x + 32 * j] = v[j];
    __syncwarp();
    if (threadIdx.x == 0) answered.store(k, cuda::memory_order_release);
    __syncwarp();
  }
}

/// @par Callers one thread
__global__ void ask_ring(bare_ring* ring, std::uint32_t requests) {
  cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system> asked(ring->asked);
  cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system> answered(ring->answered);
  for (std::uint32_t k = 1; k <= requests; ++k) {
    asked.store(k, cuda::memory_order_release);
    while (answered.load(cuda::memory_order_acquire) != k) {
    }
  }
}

}  // namespace gnstor::benchmarks
