#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::ethernet {

/// What follows an Ethernet header or a VLAN tag. IEEE 802 numbers, by IANA.
enum class ether_type : std::uint16_t {
  ipv4 = 0x0800,
  arp = 0x0806,
  vlan = 0x8100,  ///< a customer's tag: IEEE 802.1Q
  ipv6 = 0x86dd,
  provider_vlan = 0x88a8,  ///< a provider's tag: IEEE 802.1ad
};

}  // namespace gnstor::wire::ethernet
