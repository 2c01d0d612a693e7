#pragma once

#include <gnstor/core/config.hpp>

#include <cstddef>
#include <type_traits>

namespace gnstor::wire::afa {

/// Regions of a volume's dirty region log.
inline constexpr std::uint32_t dirty_region_count = 512;
/// Most of `volume_record::region_shift`.
inline constexpr std::uint32_t max_region_shift = 31;

/// The region of a stripe: of a volume that has grown beyond 512 regions it stands for several.
GNSTOR_HD constexpr std::uint32_t dirty_region_of(std::uint32_t stripe,
                                                  std::uint32_t region_shift) {
  return (stripe >> region_shift) % dirty_region_count;
}

/// The finest `volume_record::region_shift` with which a new volume of so many stripes has no more
/// regions than there are.
GNSTOR_HD constexpr std::uint32_t region_shift_for(std::uint64_t stripes) {
  for (std::uint32_t shift = 0; shift < max_region_shift; ++shift) {
    if (std::uint64_t{dirty_region_count} << shift >= stripes) return shift;
  }
  return max_region_shift;
}

/// The data of DIRTY REGIONS: where one SSD has changed a volume since its replicas were last known
/// to be equal. Where no SSD has, they still are.
struct dirty_regions {
  std::uint32_t version;  ///< `payload_version`
  std::uint16_t vid;
  std::uint16_t reserved6;
  std::uint64_t reserved8[7];
  std::uint32_t words[dirty_region_count / 32];  ///< region k: bit k % 32 of word k / 32

  GNSTOR_HD constexpr bool holds(std::uint32_t region) const {
    return (words[region / 32] >> region % 32 & 1) != 0;
  }
};

static_assert(sizeof(dirty_regions) == 128 && std::is_trivial_v<dirty_regions>);
static_assert(offsetof(dirty_regions, version) == 0);
static_assert(offsetof(dirty_regions, vid) == 4);
static_assert(offsetof(dirty_regions, reserved8) == 8);
static_assert(offsetof(dirty_regions, words) == 64);
static_assert(region_shift_for(1) == 0 && region_shift_for(512) == 0);
static_assert(region_shift_for(513) == 1 && region_shift_for(1 << 20) == 11);

}  // namespace gnstor::wire::afa
