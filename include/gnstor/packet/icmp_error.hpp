#pragma once

#include <gnstor/packet/packet.hpp>
#include <gnstor/wire/ethernet/ethernet_header.hpp>
#include <gnstor/wire/ethernet/icmp_header.hpp>
#include <gnstor/wire/ethernet/internet_checksum.hpp>

namespace gnstor::inline v0 {

/// What a router says to the sender of a packet that it could not forward. RFC 792; RFC 1812, 4.3.
struct icmp_error {
  static constexpr std::uint8_t network = 0, host = 1, fragment_needed = 4, prohibited = 13;
  static constexpr std::uint8_t in_transit = 0;
  static constexpr std::uint32_t most_bytes = 576;  ///< of the IPv4 packet. RFC 1812, 4.3.2.3

  std::uint8_t type = 0;  ///< `icmp_header::unreachable` or `time_exceeded`; 0: nothing is said
  std::uint8_t code = 0;
  std::uint16_t mtu = 0;  ///< where a fragment was needed. RFC 1191, 4

  /// True if something may be said about `p`: not if it is an ICMP error itself, or a fragment
  /// other than the first. RFC 1812, 4.3.2.7; what is for or from a group, or came as a broadcast,
  /// is the caller's to refuse before.
  /// @param p frame with an IPv4 header that was checked
  GNSTOR_HD static bool may_be_about(const packet& p) {
    namespace ether = wire::ethernet;
    const auto* ip = p.header<ether::ipv4_header>(at_ip);
    if (ip == nullptr || (ip->fragment & ether::ipv4_header::offset_mask) != 0) return false;
    if (!ip->is(ether::ip_protocol::icmp)) return true;
    const std::uint32_t at = at_ip + ip->header_bytes();
    if (ip->total_bytes <= ip->header_bytes() || p.header<std::uint8_t>(at) == nullptr)
      return false;
    // Unreachable, source quench, redirect, time exceeded, parameter problem.
    constexpr std::uint32_t errors = 1u << 3 | 1u << 4 | 1u << 5 | 1u << 11 | 1u << 12;
    const std::uint32_t its = *p.header<std::uint8_t>(at);
    return its > 31 || (errors >> its & 1) == 0;
  }

  /// Makes of `p` the message about it, to whoever it came from. False, and nothing changes, if an
  /// application before has used up the room in front.
  /// @param mac, address of the router
  /// @par Bound the bytes quoted, at most 548, which are summed up
  GNSTOR_HD bool write(const packet& p, const wire::ethernet::mac_address& mac,
                       std::uint32_t address) const {
    namespace ether = wire::ethernet;
    const auto* ip = p.header<ether::ipv4_header>(at_ip);
    if (ip == nullptr) return false;
    const ether::network32 sender = ip->source;
    const ether::mac_address back = p.header<ether::ethernet_header>(0)->source;
    // The sender's type of service, with the precedence of network control. RFC 1812, 4.3.2.5.
    const auto service = static_cast<std::uint8_t>((ip->service & 0x1e) | 0xc0);
    std::uint32_t quoted = ip->total_bytes;
    if (quoted > most_bytes - added) quoted = most_bytes - added;
    if (!p.grow_front(added)) return false;
    p.resize(at_ip + added + quoted);  // no longer than with what was added
    auto& frame = *p.header<ether::ethernet_header>(0);
    frame = {back, mac, ether::network16::of(static_cast<std::uint16_t>(ether::ether_type::ipv4))};
    write_ipv4(*p.header<ether::ipv4_header>(at_ip), service, quoted);
    auto& out = *p.header<ether::ipv4_header>(at_ip);
    out.source = address;
    out.destination = sender;
    out.checksum = sum(&out, sizeof out);
    auto& icmp = *p.header<ether::icmp_header>(at_icmp);
    icmp = {type, code, {0}, {0}, ether::network16::of(mtu)};
    icmp.checksum = sum(&icmp, sizeof icmp + quoted);
    return true;
  }

 private:
  static constexpr std::uint32_t at_ip = 14;
  static constexpr std::uint32_t at_icmp = 34;
  static constexpr std::int32_t added = 28;

  /// All but addresses and checksum. No fragment will be made of it, so it needs no identification
  /// of its own (RFC 6864, 4.1).
  GNSTOR_HD static void write_ipv4(wire::ethernet::ipv4_header& ip, std::uint8_t service,
                                   std::uint32_t quoted) {
    namespace ether = wire::ethernet;
    ip.version_words = ether::ipv4_header::without_options;
    ip.service = service;
    ip.total_bytes = static_cast<std::uint16_t>(added + quoted);
    ip.identification = 0;
    ip.fragment = ether::ipv4_header::dont_fragment;
    ip.time_to_live = 64;
    ip.protocol = static_cast<std::uint8_t>(ether::ip_protocol::icmp);
    ip.checksum = 0;
  }
  GNSTOR_HD static wire::ethernet::network16 sum(const void* from, std::uint32_t bytes) {
    return wire::ethernet::internet_checksum()
        .add_bytes(static_cast<const unsigned char*>(from), bytes)
        .value();
  }
};

static_assert(std::is_trivially_copyable_v<icmp_error>);

}  // namespace gnstor::inline v0
