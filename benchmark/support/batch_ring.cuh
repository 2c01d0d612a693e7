#pragma once
/// A request ring without any protocol that takes up to 32 requests at once: what one warp can ask
/// for, and what many can.

#include "bare_ring.cuh"
#include "pattern.hpp"

#include <cstdint>

namespace gnstor::benchmarks {

/// Requests and answers of one channel of a bare ring that takes requests in batches.
struct batch_channel {
  static constexpr std::uint32_t slots = 256;
  struct alignas(64) request {
    const uint4* from;
    uint4* to;
  };
  request requests[slots];
  alignas(128) std::uint32_t done[slots];  ///< number + 1 of the request that was served last
  alignas(128) std::uint32_t asked;        ///< requests so far
};

/// What a ring does in one run: every channel asks for `total` pages, `depth` at a time.
struct batch_job {
  batch_channel* channels = nullptr;
  const uint4* media = nullptr;  ///< the server's: `media_pages` with their pattern
  uint4* local = nullptr;        ///< the client's: 32 pages per channel
  std::uint32_t count = 1;       ///< of channels
  std::uint32_t warps = 1;       ///< of the server for each channel
  std::uint32_t depth = 32;      ///< 32 at most
  std::uint32_t total = 0;       ///< a multiple of `depth`
  bool check_all = false;        ///< compare every page, not those of the last batch
  bool fenced = false;           ///< every lane fences before it announces its page, as a first
                                 ///< probe of such rings did

  static constexpr std::uint32_t media_pages = 128 * 1024;
  __device__ std::uint32_t page(std::uint32_t channel, std::uint32_t number) const {
    return ((number + channel * total) * 2654435761u) & (media_pages - 1);
  }
};

/// Warp w of a channel serves every `warps`-th request, from the w-th on.
/// @tparam Scope as of `serve_ring`
template <cuda::thread_scope Scope>
__global__ void serve_batches(batch_job job) {
  const std::uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (warp / job.warps >= job.count) return;
  batch_channel& c = job.channels[warp / job.warps];
  cuda::atomic_ref<std::uint32_t, Scope> asked(c.asked);
  for (std::uint32_t k = warp % job.warps; k < job.total; k += job.warps) {
    while (static_cast<std::int32_t>(asked.load(cuda::memory_order_acquire) - k) <= 0) {
    }
    const batch_channel::request& r = c.requests[k % batch_channel::slots];
    copy_page(r.from, r.to);
    __syncwarp();
    if (job.fenced) __threadfence_system();
    cuda::atomic_ref<std::uint32_t, Scope> done(c.done[k % batch_channel::slots]);
    if (threadIdx.x % 32 == 0) done.store(k + 1, cuda::memory_order_release);
    __syncwarp();
  }
}

/// One warp per channel, one lane per request of the batch. @par Callers blocks of one warp
template <cuda::thread_scope Scope>
__global__ void ask_batches(batch_job job, std::uint64_t* wrong) {
  const std::uint32_t lane = threadIdx.x;
  batch_channel& c = job.channels[blockIdx.x];
  uint4* mine = job.local + (blockIdx.x * 32 + lane) * 256;
  std::uint64_t bad = 0;
  for (std::uint32_t base = 0; base < job.total; base += job.depth) {
    const std::uint32_t k = base + lane;
    const std::uint32_t page = job.page(blockIdx.x, k);
    if (lane < job.depth) {
      batch_channel::request& r = c.requests[k % batch_channel::slots];
      r.from = job.media + page * 256ull;
      r.to = mine;
    }
    __syncwarp();
    if (lane == 0 && job.fenced) __threadfence_system();
    if (lane == 0)
      cuda::atomic_ref<std::uint32_t, Scope>(c.asked).store(base + job.depth,
                                                            cuda::memory_order_release);
    if (lane < job.depth) {
      cuda::atomic_ref<std::uint32_t, Scope> done(c.done[k % batch_channel::slots]);
      while (done.load(cuda::memory_order_acquire) != k + 1) {
      }
      const bool check = job.check_all || base + job.depth >= job.total;
      const auto* words = reinterpret_cast<const std::uint64_t*>(mine);
      for (std::uint32_t w = 0; check && w < block_words; ++w)
        bad += words[w] != pattern(page, w, 0);
    }
    __syncwarp();
  }
  if (bad != 0)
    cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>(*wrong).fetch_add(
        bad, cuda::memory_order_relaxed);
}

}  // namespace gnstor::benchmarks
