#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// A registered piece of memory that a pool consists of.
struct pool_region {
  std::uint64_t address = 0;  ///< as kernels and their NIC see it
  std::uint64_t bytes = 0;    ///< a multiple of the largest block
  std::uint64_t bitmap = 0;   ///< address of its formatted bitmap, in memory of the kernels' device
  std::uint32_t lkey = 0;
  std::uint32_t rkey = 0;
};

/// The regions of an expandable pool, in memory of the kernels' device. The host appends to it
/// while kernels run; nothing is ever taken away.
struct pool_table {
  static constexpr std::uint32_t max_regions = 16;  ///< a pool can double 15 times

  std::uint32_t count = 0;  ///< regions that kernels may use; at system scope, the host's to change
  std::uint32_t asked_at = 0;  ///< kernels' own: the count at which one last asked for more
  pool_region region[max_regions];
};

/// What kernels ask the host for, in memory that both reach.
struct pool_requests {
  /// Word n - 1: the bytes of a request that found no room while the pool had n regions; 0 if there
  /// was none. A word for each number, so that a late one cannot overwrite the next.
  std::uint64_t bytes[pool_table::max_regions];
};

static_assert(sizeof(pool_region) == 32 && sizeof(pool_table) == 8 + 16 * 32);
static_assert(std::is_trivially_copyable_v<pool_table>);

}  // namespace gnstor::inline v0
