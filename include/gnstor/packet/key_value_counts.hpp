#pragma once

#include <cstdint>
#include <type_traits>

namespace gnstor::inline v0 {

/// What has become of the requests to a `key_value_table`, named as memcached's `stats` names it.
struct key_value_counts {
  std::uint64_t cmd_get;      ///< keys that were asked for
  std::uint64_t get_hits;     ///< and found
  std::uint64_t get_misses;   ///< and not found, or expired
  std::uint64_t cmd_set;      ///< `set`, `add`, `replace` and `cas` with a value that fits
  std::uint64_t total_items;  ///< values stored by these
  std::uint64_t curr_items;   ///< items that are there, expired ones among them
  std::uint64_t delete_hits;  ///< removed by request
  std::uint64_t evictions;    ///< items that had to make room
  std::uint64_t reclaimed;    ///< expired ones that did
  std::uint64_t busy;         ///< given up: no turn at a bucket, or at an item, in time
};

static_assert(std::is_trivial_v<key_value_counts>);

}  // namespace gnstor::inline v0
