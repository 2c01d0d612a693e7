#pragma once

#include <gnstor/wire/ethernet/mac_address.hpp>
#include <gnstor/wire/ethernet/network_order.hpp>

namespace gnstor::wire::ethernet {

/// Who has this IPv4 address on this Ethernet? RFC 826.
struct arp_packet {
  static constexpr std::uint16_t of_ethernet = 1;  ///< `hardware`
  static constexpr std::uint16_t request = 1;      ///< `operation`
  static constexpr std::uint16_t reply = 2;

  network16 hardware;
  network16 protocol;           ///< `ether_type::ipv4`
  std::uint8_t hardware_bytes;  ///< 6
  std::uint8_t protocol_bytes;  ///< 4
  network16 operation;
  mac_address sender;
  network32 sender_ip;
  mac_address target;
  network32 target_ip;
};

static_assert(sizeof(arp_packet) == 28 && std::is_trivial_v<arp_packet>);
static_assert(offsetof(arp_packet, operation) == 6);
static_assert(offsetof(arp_packet, sender) == 8);
static_assert(offsetof(arp_packet, sender_ip) == 14);
static_assert(offsetof(arp_packet, target) == 18);
static_assert(offsetof(arp_packet, target_ip) == 24);

}  // namespace gnstor::wire::ethernet
