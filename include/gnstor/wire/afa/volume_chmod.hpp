#pragma once

#include <gnstor/wire/afa/volume_record.hpp>

#include <type_traits>

namespace gnstor::wire::afa {

/// The data of VOLUME CHMOD: new rights for some clients of one volume, where it lies, what it is
/// called, and how long it is.
///
/// Each listed client gets exactly the rights given, none removes it; clients not listed keep
/// theirs. A volume may be spread over one SSD more, or one fewer, and grow, never shrink. All of
/// it is applied, or nothing. GNStor, 4.1.
struct volume_chmod {
  static constexpr std::uint32_t sets_name = 1;
  static constexpr std::uint32_t sets_labels = 2;
  static constexpr std::uint32_t sets_capacity = 4;
  /// All replicas are equal: no region is dirty any more. The manager's alone to say.
  static constexpr std::uint32_t sets_clean = 8;
  /// `held_until`. The manager's alone to say.
  static constexpr std::uint32_t sets_hold = 16;

  std::uint32_t version;  ///< `payload_version`
  std::uint16_t vid;
  std::uint16_t client_count;  ///< entries of `clients` in use
  std::uint32_t ssd_count;     ///< as in `volume_record`; 0: it stays
  volume_spread
      spread;  ///< with `ssd_count`: moved, gathering, dropping; else deleting, or whole: as it is
  std::uint64_t owner;            ///< from now on, as in `volume_record`; 0: it stays
  std::uint32_t sets;             ///< which of the following count: `sets_name`, ...
  std::uint32_t held_until;       ///< as in `volume_record`
  std::uint64_t capacity_blocks;  ///< from now on
  std::uint32_t reserved40[6];
  volume_name name;      ///< from now on
  volume_labels labels;  ///< likewise
  volume_client clients[max_volume_clients];
};

static_assert(sizeof(volume_chmod) == 384 && std::is_trivial_v<volume_chmod>);
static_assert(offsetof(volume_chmod, version) == 0);
static_assert(offsetof(volume_chmod, vid) == 4);
static_assert(offsetof(volume_chmod, client_count) == 6);
static_assert(offsetof(volume_chmod, ssd_count) == 8);
static_assert(offsetof(volume_chmod, spread) == 12);
static_assert(offsetof(volume_chmod, owner) == 16);
static_assert(offsetof(volume_chmod, sets) == 24);
static_assert(offsetof(volume_chmod, held_until) == 28);
static_assert(offsetof(volume_chmod, capacity_blocks) == 32);
static_assert(offsetof(volume_chmod, reserved40) == 40);
static_assert(offsetof(volume_chmod, name) == 64);
static_assert(offsetof(volume_chmod, labels) == 128);
static_assert(offsetof(volume_chmod, clients) == 256);

}  // namespace gnstor::wire::afa
