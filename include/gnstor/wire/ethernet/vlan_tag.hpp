#pragma once

#include <gnstor/wire/ethernet/network_order.hpp>

namespace gnstor::wire::ethernet {

/// What follows an Ethernet header of type `vlan`. IEEE 802.1Q, 9.6.
struct vlan_tag {
  network16 control;  ///< priority in bits 15:13, drop eligibility in 12, the VLAN in 11:0
  network16 type;     ///< `ether_type` of what follows

  GNSTOR_HD constexpr std::uint16_t id() const { return control & 0x0fff; }
  GNSTOR_HD constexpr std::uint8_t priority() const {
    return static_cast<std::uint8_t>(control >> 13);
  }
};

static_assert(sizeof(vlan_tag) == 4 && std::is_trivial_v<vlan_tag>);
static_assert(offsetof(vlan_tag, type) == 2);

}  // namespace gnstor::wire::ethernet
