#pragma once

#include <gnstor/wire/ethernet/ip_protocol.hpp>
#include <gnstor/wire/ethernet/network_order.hpp>

namespace gnstor::wire::ethernet {

/// An IPv4 header without its options. RFC 791, 3.1.
struct ipv4_header {
  static constexpr std::uint8_t without_options = 0x45;  ///< `version_words`: version 4, five words
  static constexpr std::uint16_t dont_fragment = 0x4000;
  static constexpr std::uint16_t more_fragments = 0x2000;
  static constexpr std::uint16_t offset_mask = 0x1fff;  ///< units of eight bytes

  std::uint8_t version_words;
  std::uint8_t service;  ///< differentiated services and congestion notification
  network16 total_bytes;
  network16 identification;
  network16 fragment;  ///< flags and offset
  std::uint8_t time_to_live;
  std::uint8_t protocol;  ///< `ip_protocol`
  network16 checksum;     ///< of the header
  network32 source;
  network32 destination;

  GNSTOR_HD constexpr std::uint8_t version() const { return version_words >> 4; }
  /// Options included. Under 20: not an IPv4 header.
  GNSTOR_HD constexpr std::uint32_t header_bytes() const { return (version_words & 15u) * 4; }
  GNSTOR_HD constexpr bool is(ip_protocol p) const {
    return protocol == static_cast<std::uint8_t>(p);
  }
  GNSTOR_HD constexpr bool is_fragment() const {
    return (fragment & (more_fragments | offset_mask)) != 0;
  }
};

static_assert(sizeof(ipv4_header) == 20 && std::is_trivial_v<ipv4_header>);
static_assert(offsetof(ipv4_header, total_bytes) == 2);
static_assert(offsetof(ipv4_header, fragment) == 6);
static_assert(offsetof(ipv4_header, time_to_live) == 8);
static_assert(offsetof(ipv4_header, protocol) == 9);
static_assert(offsetof(ipv4_header, checksum) == 10);
static_assert(offsetof(ipv4_header, source) == 12);
static_assert(offsetof(ipv4_header, destination) == 16);

}  // namespace gnstor::wire::ethernet
