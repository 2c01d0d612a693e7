#pragma once
/// A request ring without any protocol: what a request and its answer cost at depth 1.

#include <cuda/atomic>
#include <cuda_runtime.h>

#include <cstdint>

namespace gnstor::benchmarks {

/// One request in flight: the client writes its number, the server's warps copy a page each, and
/// the number is written back.
struct bare_ring {
  alignas(128) std::uint32_t asked;
  alignas(128) std::uint32_t answered;
};

/// What the requests of a ring move.
struct ring_job {
  const uint4* from = nullptr;
  uint4* to = nullptr;
  std::uint32_t slots = 1;  ///< in the media, each of as many pages as the server has warps; a
                            ///< power of two
  std::uint32_t requests = 0;
  bool scattered = true;    ///< else one slot after another
  std::uint32_t store = 0;  ///< copies that a request writes to the media, the second `slots`
                            ///< behind the first; 0: it reads

  __host__ __device__ std::uint64_t slot(std::uint32_t request) const {
    return (scattered ? request * 2654435761u : request) & (slots - 1);
  }
};

/// Copies a page of 4 KiB. @par Callers one warp
__device__ inline void copy_page(const uint4* from, uint4* to) {
  const std::uint32_t lane = threadIdx.x % 32;
  uint4 v[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) v[j] = from[lane + 32 * j];
#pragma unroll
  for (int j = 0; j < 8; ++j) to[lane + 32 * j] = v[j];
}

/// @tparam Scope of request and answer: device where both sides run on one GPU, as an array's node
/// and its client do
/// @par Callers one block of whole warps
template <cuda::thread_scope Scope>
__global__ void serve_ring(bare_ring* ring, ring_job job) {
  cuda::atomic_ref<std::uint32_t, Scope> asked(ring->asked);
  cuda::atomic_ref<std::uint32_t, Scope> answered(ring->answered);
  const std::uint32_t warp = threadIdx.x / 32;
  const std::uint32_t pages = blockDim.x / 32;
  for (std::uint32_t k = 1; k <= job.requests; ++k) {
    while (asked.load(cuda::memory_order_acquire) != k) {
    }
    const std::uint64_t at = job.slot(k) * pages + warp;
    if (job.store == 0) copy_page(job.from + at * 256, job.to + warp * 256);
    for (std::uint32_t c = 0; c < job.store; ++c)
      copy_page(job.from + warp * 256, job.to + (c * std::uint64_t{job.slots} * pages + at) * 256);
    __syncthreads();
    if (threadIdx.x == 0) answered.store(k, cuda::memory_order_release);
    __syncthreads();
  }
}

/// @par Callers one thread
template <cuda::thread_scope Scope>
__global__ void ask_ring(bare_ring* ring, std::uint32_t requests) {
  cuda::atomic_ref<std::uint32_t, Scope> asked(ring->asked);
  cuda::atomic_ref<std::uint32_t, Scope> answered(ring->answered);
  for (std::uint32_t k = 1; k <= requests; ++k) {
    asked.store(k, cuda::memory_order_release);
    while (answered.load(cuda::memory_order_acquire) != k) {
    }
  }
}

}  // namespace gnstor::benchmarks
