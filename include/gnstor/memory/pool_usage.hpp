#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0 {

/// Who owns the blocks of one level of a pool at some moment.
struct level_usage {
  std::uint64_t block_bytes = 0;
  std::uint64_t owned = 0;  ///< blocks that callers hold
  std::uint64_t free = 0;   ///< whole and free
  std::uint64_t split = 0;  ///< cut into blocks of the level below
  std::uint64_t full = 0;   ///< of the split ones, those marked as without a free part

  GNSTOR_HD constexpr std::uint64_t owned_bytes() const { return owned * block_bytes; }
  GNSTOR_HD constexpr std::uint64_t free_bytes() const { return free * block_bytes; }
};

/// Who owns a pool at some moment, level by level, smallest blocks first.
///
/// Read from the bitmap, so that it costs requests nothing. Exact when no other thread allocates or
/// releases; then owned and free bytes add up to the pool.
/// @tparam Count number of levels
template <unsigned Count>
struct pool_usage {
  level_usage level[Count];

  GNSTOR_HD constexpr std::uint64_t owned_bytes() const {
    std::uint64_t sum = 0;
    for (unsigned k = 0; k < Count; ++k) sum += level[k].owned_bytes();
    return sum;
  }
  GNSTOR_HD constexpr std::uint64_t free_bytes() const {
    std::uint64_t sum = 0;
    for (unsigned k = 0; k < Count; ++k) sum += level[k].free_bytes();
    return sum;
  }
};

}  // namespace gnstor::inline v0
