#pragma once

#include <gnstor/wire/ethernet/ip_protocol.hpp>
#include <gnstor/wire/ethernet/network_order.hpp>

namespace gnstor::wire::ethernet {

/// The fixed header of IPv6. RFC 8200, 3.
struct ipv6_header {
  network32 version_class_flow;  ///< version in bits 31:28, class in 27:20, flow label in 19:0
  network16 payload_bytes;
  std::uint8_t next;  ///< `ip_protocol`, or an extension header
  std::uint8_t hop_limit;
  network16 source[8];
  network16 destination[8];

  GNSTOR_HD constexpr std::uint8_t version() const {
    return static_cast<std::uint8_t>(version_class_flow >> 28);
  }
};

static_assert(sizeof(ipv6_header) == 40 && std::is_trivial_v<ipv6_header>);
static_assert(offsetof(ipv6_header, payload_bytes) == 4);
static_assert(offsetof(ipv6_header, next) == 6);
static_assert(offsetof(ipv6_header, hop_limit) == 7);
static_assert(offsetof(ipv6_header, source) == 8);
static_assert(offsetof(ipv6_header, destination) == 24);

}  // namespace gnstor::wire::ethernet
