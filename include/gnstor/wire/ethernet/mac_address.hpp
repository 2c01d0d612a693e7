#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::ethernet {

/// A 48-bit hardware address, in the order in which it is sent. IEEE 802.3, 3.2.3.
struct mac_address {
  std::uint8_t byte[6];

  /// Broadcast or multicast.
  GNSTOR_HD constexpr bool is_group() const { return (byte[0] & 1) != 0; }

  GNSTOR_HD friend constexpr bool operator==(const mac_address& a, const mac_address& b) {
    bool same = true;
    for (int k = 0; k < 6; ++k) same = same && a.byte[k] == b.byte[k];
    return same;
  }
};

static_assert(sizeof(mac_address) == 6 && std::is_trivial_v<mac_address>);

}  // namespace gnstor::wire::ethernet
