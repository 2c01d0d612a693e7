#pragma once

#include <gnstor/wire/afa/stand_ins.hpp>
#include <gnstor/wire/afa/volume_record.hpp>

#include <type_traits>

namespace gnstor::wire::afa {

inline constexpr std::uint32_t max_array_ssds = 64;  ///< SSDs of one array

/// What one end must know of the array: the data of ARRAY DESCRIBE.
///
/// Both ends compute placement over `ssd_ids` in this order; an index elsewhere is an index into
/// it.
struct array_description {
  std::uint32_t version;  ///< `payload_version`, or `version_with_others`
  std::uint32_t epoch;
  std::uint16_t ssd_count;   ///< entries of `ssd_ids` in use
  std::uint16_t own_ssd;     ///< index of the SSD that sends or receives this
  std::uint16_t own_client;  ///< client id of the association
  /// That of its whole host, by which each session of it may read; 0, of older arrays: the same.
  std::uint16_t own_host;
  std::uint32_t block_bytes;
  std::uint32_t max_transfer_blocks;  ///< of one command
  std::uint64_t capacity_blocks;      ///< that volumes may hold on each SSD
  std::uint64_t free_blocks;          ///< of that SSD: erased, and not taken by anybody
  std::uint64_t moved_blocks;         ///< that garbage collection has moved since it was formatted
  std::uint64_t absent;               ///< as in `array_membership`
  std::uint64_t filling;              ///< likewise
  /// Bits 31:0: names that stay with an SSD over all epochs. Bits 63:32 say who stands in: see
  /// `set_others`.
  std::uint64_t ssd_ids[max_array_ssds];
  std::uint64_t term;  ///< the latest of those whose manager has ordered something of that SSD

  /// Says which SSDs stand in: the entry of such an SSD has 1 + its place in its upper half.
  GNSTOR_HD constexpr void set_others(stand_ins now) {
    if (now.any()) version = version_with_others;
    if (now.has(0)) ssd_ids[now.ssd(0) & 63] |= std::uint64_t{now.place(0) + 1} << 32;
    if (now.has(1)) ssd_ids[now.ssd(1) & 63] |= std::uint64_t{now.place(1) + 1} << 32;
  }
  /// Those that do; more than `stand_ins::most` are left out.
  constexpr stand_ins others() const {
    stand_ins all;
    if (version != version_with_others) return all;
    for (std::uint32_t k = 0; k < max_array_ssds && k < ssd_count; ++k) {
      const auto at = static_cast<std::uint32_t>(ssd_ids[k] >> 32);
      if (at != 0 && all.has_room()) all = all.with((at - 1) & 0xff, k);
    }
    return all;
  }
};

static_assert(sizeof(array_description) == 584 && std::is_trivial_v<array_description>);
static_assert(offsetof(array_description, version) == 0);
static_assert(offsetof(array_description, epoch) == 4);
static_assert(offsetof(array_description, ssd_count) == 8);
static_assert(offsetof(array_description, own_ssd) == 10);
static_assert(offsetof(array_description, own_client) == 12);
static_assert(offsetof(array_description, own_host) == 14);
static_assert(offsetof(array_description, block_bytes) == 16);
static_assert(offsetof(array_description, max_transfer_blocks) == 20);
static_assert(offsetof(array_description, capacity_blocks) == 24);
static_assert(offsetof(array_description, free_blocks) == 32);
static_assert(offsetof(array_description, moved_blocks) == 40);
static_assert(offsetof(array_description, absent) == 48);
static_assert(offsetof(array_description, filling) == 56);
static_assert(offsetof(array_description, ssd_ids) == 64);
static_assert(offsetof(array_description, term) == 576);

}  // namespace gnstor::wire::afa
