#pragma once

#include <gnstor/wire/ethernet/ether_type.hpp>
#include <gnstor/wire/ethernet/mac_address.hpp>
#include <gnstor/wire/ethernet/network_order.hpp>

namespace gnstor::wire::ethernet {

/// What a frame begins with. IEEE 802.3, 3.1.1.
struct ethernet_header {
  mac_address destination;
  mac_address source;
  network16 type;  ///< `ether_type`; up to 1500 a length, which nothing here uses

  GNSTOR_HD constexpr bool is(ether_type t) const { return type == static_cast<std::uint16_t>(t); }
};

static_assert(sizeof(ethernet_header) == 14 && std::is_trivial_v<ethernet_header>);
static_assert(offsetof(ethernet_header, destination) == 0);
static_assert(offsetof(ethernet_header, source) == 6);
static_assert(offsetof(ethernet_header, type) == 12);

}  // namespace gnstor::wire::ethernet
