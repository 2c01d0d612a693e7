#pragma once

#include <gnstor/core/config.hpp>
#include <gnstor/wire/afa/volume_client.hpp>

namespace gnstor::fw {

/// What the permission table says about one client of one volume, all read from one published
/// image.
struct volume_grant {
  /// Beside `right_write`, of the manager: only what this SSD is about to hold, while no client
  /// writes that here. A hold does not concern it.
  static constexpr std::uint32_t gathers = 16;
  static_assert(gathers > wire::afa::all_rights);

  std::uint64_t hash_factor = 0;
  std::uint64_t capacity_blocks = 0;
  std::uint32_t generation = 0;  ///< incarnation of the volume on this SSD; 0 when there is none
  std::uint32_t stripe_blocks = 0;
  std::uint32_t replicas = 0;
  std::uint32_t ssd_count = 0;  ///< that the placement chooses from
  std::uint32_t rights = 0;     ///< `right_read`, `right_write`, `gathers`
  std::uint32_t region_shift = 0;
  std::uint32_t held_until = 0;  ///< as in `volume_record`

  /// True if what needs `right` has to wait for another epoch.
  GNSTOR_HD bool is_held(std::uint32_t right, std::uint32_t epoch) const {
    return right == wire::afa::right_write && epoch < held_until && (rights & gathers) == 0;
  }
};

}  // namespace gnstor::fw
