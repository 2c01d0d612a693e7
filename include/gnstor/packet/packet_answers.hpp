#pragma once
/// What a station of one IPv4 address answers, whatever else an application does: ARP requests,
/// pings and datagrams, each in the buffer that the question came in. RFC 826, RFC 792, RFC 768.

#include <gnstor/packet/ipv4_check.hpp>
#include <gnstor/packet/packet.hpp>
#include <gnstor/wire/ethernet/arp_packet.hpp>
#include <gnstor/wire/ethernet/ethernet_header.hpp>
#include <gnstor/wire/ethernet/icmp_header.hpp>
#include <gnstor/wire/ethernet/internet_checksum.hpp>
#include <gnstor/wire/ethernet/udp_header.hpp>

namespace gnstor::detail {

/// Makes an ARP request for `address` the reply, but for the Ethernet header.
/// @par Result `received` if it is one now; else why there is none
GNSTOR_HD inline packet_cause answer_arp(const packet& p, const wire::ethernet::mac_address& mac,
                                         std::uint32_t address) {
  namespace ether = wire::ethernet;
  auto* arp = p.header<ether::arp_packet>(sizeof(ether::ethernet_header));
  if (arp == nullptr || arp->hardware != ether::arp_packet::of_ethernet ||
      arp->protocol != static_cast<std::uint16_t>(ether::ether_type::ipv4) ||
      arp->hardware_bytes != 6 || arp->protocol_bytes != 4) {
    return packet_cause::malformed;
  }
  if (arp->operation != ether::arp_packet::request || arp->target_ip != address)
    return packet_cause::not_for_us;
  arp->operation = ether::arp_packet::reply;
  arp->target = arp->sender;
  arp->target_ip = arp->sender_ip;
  arp->sender = mac;
  arp->sender_ip = address;
  return packet_cause::received;
}

/// Makes an ICMP echo request the reply, from its ICMP header on.
/// @param at where that begins: the frame ends where the IPv4 packet does
/// @par Result as of `answer_arp`
GNSTOR_HD inline packet_cause answer_echo(const packet& p, std::uint32_t at) {
  namespace ether = wire::ethernet;
  auto* icmp = p.header<ether::icmp_header>(at);
  if (icmp == nullptr) return packet_cause::malformed;
  const auto* bytes = reinterpret_cast<const unsigned char*>(icmp);
  if (ether::internet_checksum().add_bytes(bytes, p.length() - at).value() != 0)
    return packet_cause::wrong_checksum;
  if (icmp->type != ether::icmp_header::echo || icmp->code != 0) return packet_cause::unsupported;
  icmp->type = ether::icmp_header::echo_reply;
  constexpr auto before = ether::network16::of(ether::icmp_header::echo << 8);
  icmp->checksum = ether::updated_checksum(icmp->checksum, before, ether::network16::of(0));
  return packet_cause::received;
}

/// Gives a packet another time to live, and the header's checksum with it.
GNSTOR_HD inline void set_time_to_live(wire::ethernet::ipv4_header& ip, std::uint8_t hops) {
  namespace ether = wire::ethernet;
  const auto word = [&ip] {  // that the time to live is in
    return ether::network16::of(static_cast<std::uint16_t>(ip.time_to_live << 8 | ip.protocol));
  };
  const ether::network16 before = word();
  ip.time_to_live = hops;
  ip.checksum = ether::updated_checksum(ip.checksum, before, word());
}

/// Makes a sound UDP datagram the answer that `make(ip, udp)` makes of it, but for addresses.
/// @param make changes lengths, data and checksum, and returns `received`; else why it does not
/// @par Result as of `answer_arp`
template <class Make>
GNSTOR_HD packet_cause answer_udp(const packet& p, wire::ethernet::ipv4_header& ip,
                                  std::uint32_t at, const Make& make) {
  namespace ether = wire::ethernet;
  auto* udp = p.header<ether::udp_header>(at);
  const std::uint32_t length = p.length() - at;
  if (udp == nullptr || udp->total_bytes != length) return packet_cause::malformed;
  const auto* bytes = reinterpret_cast<const unsigned char*>(udp);
  if (udp->checksum != 0 &&
      ether::pseudo_header(ip, udp->total_bytes).add_bytes(bytes, length).value() != 0) {
    return packet_cause::wrong_checksum;
  }
  const packet_cause why = make(ip, *udp);
  if (why != packet_cause::received) return why;
  const ether::network16 port = udp->destination;
  udp->destination = udp->source;
  udp->source = port;  // the sum of both is the same
  return packet_cause::received;
}

/// Makes an IPv4 packet to `address` the answer, but for the Ethernet header: a ping, or a datagram
/// that `make` answers, as `answer_udp` says.
/// @par Result as of `answer_arp`
template <class Make>
GNSTOR_HD packet_cause answer_ipv4(const packet& p, std::uint32_t address, const Make& make) {
  namespace ether = wire::ethernet;
  constexpr std::uint32_t at_ip = sizeof(ether::ethernet_header);
  constexpr std::uint32_t at_data = at_ip + sizeof(ether::ipv4_header);
  auto* ip = p.header<ether::ipv4_header>(at_ip);
  const packet_cause problem = problem_of_ipv4(ip, p.length() - at_ip);
  if (problem != packet_cause::received) return problem;
  if (ip->destination != address) return packet_cause::not_for_us;
  constexpr std::uint32_t first_multicast = 0xe0000000;
  if (ip->source == address || ip->source == 0 || ip->source >= first_multicast)
    return packet_cause::malformed;
  if (ip->header_bytes() != sizeof *ip || ip->is_fragment()) return packet_cause::unsupported;
  // What Ethernet filled a short frame up with is not answered.
  if (!p.resize(at_ip + ip->total_bytes)) return packet_cause::malformed;
  packet_cause why = packet_cause::unsupported;
  if (ip->is(ether::ip_protocol::icmp)) why = answer_echo(p, at_data);
  if (ip->is(ether::ip_protocol::udp)) why = answer_udp(p, *ip, at_data, make);
  if (why != packet_cause::received) return why;
  ip->destination = ip->source;
  ip->source = address;  // the sum of both is the same
  set_time_to_live(*ip, 64);
  return packet_cause::received;
}

/// Makes a frame the answer to its sender: an ARP request for `address`, or what `answer_ipv4`
/// does.
/// @par Result `forward`, or `drop` with the reason
// [snippet
template <class Make>
GNSTOR_HD packet_verdict answer_frame(const packet& p, const wire::ethernet::mac_address& mac,
                                      std::uint32_t address, const Make& make) {
  namespace ether = wire::ethernet;
  auto* frame = p.header<ether::ethernet_header>(0);
  if (frame == nullptr || frame->source.is_group()) return p.refuse(packet_cause::malformed);
  packet_cause why = packet_cause::unsupported;
  if (frame->is(ether::ether_type::arp)) why = answer_arp(p, mac, address);
  if (frame->is(ether::ether_type::ipv4)) {
    why = frame->destination == mac ? answer_ipv4(p, address, make) : packet_cause::not_for_us;
  }
  if (why != packet_cause::received) return p.refuse(why);
  frame->destination = frame->source;
  frame->source = mac;
  return packet_verdict::forward;
}
// snippet]

}  // namespace gnstor::detail
