#pragma once

#include <gnstor/wire/afa/volume_record.hpp>

#include <type_traits>

namespace gnstor::wire::afa {

inline constexpr std::uint32_t volume_list_records = 10;  ///< records that fit one answer

/// The 4 KiB answer to VOLUME LIST: the volumes from the asked VID on, in order of VID.
///
/// A reader asks again from `next_vid` until that is 0.
struct volume_list {
  std::uint32_t version;   ///< `payload_version`
  std::uint32_t epoch;     ///< the SSD's array epoch
  std::uint32_t count;     ///< records in use
  std::uint32_t total;     ///< volumes the SSD knows; 0 where VIDs above 1 were asked for
  std::uint16_t next_vid;  ///< first VID that did not fit; 0 if all did
  std::uint16_t reserved18[119];
  volume_record records[volume_list_records];
};

static_assert(sizeof(volume_list) == 4096 && std::is_trivial_v<volume_list>);
static_assert(offsetof(volume_list, version) == 0);
static_assert(offsetof(volume_list, epoch) == 4);
static_assert(offsetof(volume_list, count) == 8);
static_assert(offsetof(volume_list, total) == 12);
static_assert(offsetof(volume_list, next_vid) == 16);
static_assert(offsetof(volume_list, reserved18) == 18);
static_assert(offsetof(volume_list, records) == 256);

}  // namespace gnstor::wire::afa
