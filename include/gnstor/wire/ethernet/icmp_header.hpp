#pragma once

#include <gnstor/wire/ethernet/network_order.hpp>

namespace gnstor::wire::ethernet {

/// An ICMP header, of an echo or of an error. RFC 792.
struct icmp_header {
  static constexpr std::uint8_t echo_reply = 0, unreachable = 3, echo = 8, time_exceeded = 11;

  std::uint8_t type;
  std::uint8_t code;
  network16 checksum;  ///< of header and data
  network16 id;        ///< of an echo; zero in most errors
  network16 sequence;  ///< of an echo; the next hop's MTU where a fragment was needed
};

static_assert(sizeof(icmp_header) == 8 && std::is_trivial_v<icmp_header>);
static_assert(offsetof(icmp_header, checksum) == 2);
static_assert(offsetof(icmp_header, id) == 4);
static_assert(offsetof(icmp_header, sequence) == 6);

}  // namespace gnstor::wire::ethernet
