#pragma once

#include <gnstor/wire/ethernet/network_order.hpp>

namespace gnstor::wire::ethernet {

/// A TCP header without its options. RFC 9293, 3.1.
struct tcp_header {
  static constexpr std::uint8_t fin = 0x01, syn = 0x02, rst = 0x04, psh = 0x08, ack = 0x10;

  network16 source;
  network16 destination;
  network32 sequence;
  network32 acknowledgment;
  std::uint8_t words;  ///< of the header, options included, in bits 7:4
  std::uint8_t flags;
  network16 window;
  network16 checksum;
  network16 urgent;

  GNSTOR_HD constexpr std::uint32_t header_bytes() const { return (words >> 4) * 4u; }
};

static_assert(sizeof(tcp_header) == 20 && std::is_trivial_v<tcp_header>);
static_assert(offsetof(tcp_header, sequence) == 4);
static_assert(offsetof(tcp_header, acknowledgment) == 8);
static_assert(offsetof(tcp_header, words) == 12);
static_assert(offsetof(tcp_header, window) == 14);
static_assert(offsetof(tcp_header, checksum) == 16);

}  // namespace gnstor::wire::ethernet
