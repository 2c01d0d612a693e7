#pragma once

#include <deengine/cuckoo_map.hpp>

namespace gnstor::fw {

/// What a reader has seen before its command is checked: loads that need no order wait for memory
/// together.
struct foresight {
  static constexpr std::uint32_t nothing = ~0u;
  std::uint32_t epoch;
  std::uint32_t shard = nothing;  ///< whose mapping was looked at
  std::uint64_t version;          ///< `permission_table::version_now`
  cuckoo_map::sighting seen;
};

}  // namespace gnstor::fw
