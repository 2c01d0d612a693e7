#pragma once
/// How fast SMs move pages between two memories, and whether pages hold what they should.

#include "bare_ring.cuh"
#include "pattern.hpp"

namespace gnstor::benchmarks {

/// Copies pages of 4 KiB in scattered order, each to the same page, one warp per page, eight
/// 16-byte accesses in flight per lane.
/// @param pages a power of two
__global__ void copy_pages(const uint4* from, uint4* to, std::uint32_t pages) {
  const std::uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  for (std::uint32_t p = warp; p < pages; p += gridDim.x * blockDim.x / 32) {
    const std::uint64_t page = (p * 2654435761ull) & (pages - 1);
    copy_page(from + page * 256, to + page * 256);
  }
}

/// Page `first + k` of what follows `at` gets the pattern of block `first + k`.
__global__ void fill_pages(std::uint64_t* at, std::uint64_t first, std::uint32_t pages) {
  const std::uint64_t words = std::uint64_t{pages} * block_words;
  for (std::uint64_t w = blockIdx.x * blockDim.x + threadIdx.x; w < words;
       w += gridDim.x * blockDim.x)
    at[w] = pattern(first + w / block_words, w % block_words, 0);
}

/// Counts the words that are not what `fill_pages` left.
__global__ void check_pages(const std::uint64_t* at, std::uint64_t first, std::uint32_t pages,
                            std::uint64_t* wrong) {
  const std::uint64_t words = std::uint64_t{pages} * block_words;
  std::uint64_t bad = 0;
  for (std::uint64_t w = blockIdx.x * blockDim.x + threadIdx.x; w < words;
       w += gridDim.x * blockDim.x)
    bad += at[w] != pattern(first + w / block_words, w % block_words, 0);
  if (bad != 0)
    cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>(*wrong).fetch_add(
        bad, cuda::memory_order_relaxed);
}

}  // namespace gnstor::benchmarks
