#pragma once

#include <hca/memory_region.hpp>

namespace gnstor::fw {

/// The regions an engine met last: it does not ask memory for them at every command.
///
/// What it keeps holds until the table changes. The table counts its changes; an engine looks at
/// that count once a round, so a key that is withdrawn opens nothing in the rounds that follow.
class region_cache {
 public:
  GNSTOR_HD explicit region_cache(region_table regions) : regions_(regions) {}

  /// As `region_table::allows`.
  /// @par Callers any lane; each keeps regions of its own
  GNSTOR_HD bool allows(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                        std::uint32_t access, std::uint32_t domain) {
    if (!regions_.counts_changes()) return regions_.allows(key, address, bytes, access, domain);
    memory_region& known = (access & (remote_read | remote_write)) != 0 ? remote_ : local_;
    if (known.key != key || key == 0) {
      known = regions_.find(key);
      if (known.key == 0) return false;
    }
    return region_table::opens(known, address, bytes, access, domain);
  }

  /// The table has changed.
  GNSTOR_HD void forget() { local_.key = remote_.key = 0; }

 private:
  region_table regions_;
  memory_region local_;
  memory_region remote_;
};

}  // namespace gnstor::fw
