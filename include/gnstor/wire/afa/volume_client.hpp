#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::afa {

inline constexpr std::uint16_t right_read = 1;   ///< bit 0
inline constexpr std::uint16_t right_write = 2;  ///< bit 1: at most one client per volume holds it
inline constexpr std::uint16_t right_fill = 4;   ///< bit 2: FILL, for who rebuilds an SSD
/// Bit 3: it may ask the array's manager for the rights to read and to write, and comes back to
/// them when it has given them back. SSDs keep it; it allows no I/O.
inline constexpr std::uint16_t right_admitted = 8;
inline constexpr std::uint16_t all_rights = 15;
inline constexpr std::uint32_t max_volume_clients = 32;  ///< clients of one volume

/// A client of a volume and what it may do there.
struct volume_client {
  std::uint16_t client;
  std::uint16_t rights;
};

static_assert(sizeof(volume_client) == 4 && std::is_trivial_v<volume_client>);
static_assert(offsetof(volume_client, client) == 0 && offsetof(volume_client, rights) == 2);

}  // namespace gnstor::wire::afa
