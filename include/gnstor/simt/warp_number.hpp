#pragma once
/// Which warp of a grid this is: the one rule by which warps get channels and slots.
///
/// Warps are per block, as the machine makes them: 32 threads each in the order of x, then y, then
/// z; the last one has fewer where the block is no multiple of 32 threads. A block of 48 threads is
/// two warps, one of 16 is one. So `global_thread() / 32` is no warp's number: it splits warps, and
/// joins blocks.

#include <gnstor/simt/thread_position.hpp>

namespace gnstor::simt {

/// Warps of a block of so many threads.
GNSTOR_HD constexpr std::uint32_t warps_of(std::uint32_t block_threads) {
  return (block_threads + 31) / 32;
}

/// Number of the calling lane's warp in its grid, block after block; less than `warp_count()`.
GNSTOR_HD inline std::uint32_t warp_number() {
  return gnstor::detail::block_index() * warps_of(gnstor::detail::threads_of_block()) +
         gnstor::detail::thread_index() / 32;
}

/// Warps of the grid.
GNSTOR_HD inline std::uint32_t warp_count() {
  return gnstor::detail::grid_shape().count() * warps_of(gnstor::detail::threads_of_block());
}

static_assert(warps_of(16) == 1 && warps_of(48) == 2 && warps_of(1024) == 32);

}  // namespace gnstor::simt
