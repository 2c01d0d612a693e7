#pragma once

#include <gnstor/wire/afa/volume_record.hpp>

#include <type_traits>

namespace gnstor::wire::afa {

/// The data of VOLUME CHMOD: new rights for some clients of one volume, and where it lies.
///
/// Each listed client gets exactly the rights given, none removes it; clients not listed keep
/// theirs. A volume may be spread over more SSDs, never fewer. All of it is applied, or nothing.
/// GNStor, 4.1.
struct volume_chmod {
  std::uint32_t version;  ///< `payload_version`
  std::uint16_t vid;
  std::uint16_t client_count;  ///< entries of `clients` in use
  std::uint32_t ssd_count;     ///< as in `volume_record`; 0: this and `spread` stay
  volume_spread spread;        ///< moved or dropping
  std::uint64_t owner;         ///< from now on, as in `volume_record`; 0: it stays
  std::uint32_t reserved24[10];
  volume_client clients[max_volume_clients];
};

static_assert(sizeof(volume_chmod) == 128 && std::is_trivial_v<volume_chmod>);
static_assert(offsetof(volume_chmod, version) == 0);
static_assert(offsetof(volume_chmod, vid) == 4);
static_assert(offsetof(volume_chmod, client_count) == 6);
static_assert(offsetof(volume_chmod, ssd_count) == 8);
static_assert(offsetof(volume_chmod, spread) == 12);
static_assert(offsetof(volume_chmod, owner) == 16);
static_assert(offsetof(volume_chmod, reserved24) == 24);
static_assert(offsetof(volume_chmod, clients) == 64);

}  // namespace gnstor::wire::afa
