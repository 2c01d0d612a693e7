#pragma once

#include <gnstor/packet/ipv4_check.hpp>
#include <gnstor/packet/packet_answers.hpp>
#include <gnstor/packet/packet_application.hpp>
#include <gnstor/wire/ethernet/udp_header.hpp>

namespace gnstor::inline v0 {

/// A packet application that answers as a host of one address does: ARP, ping, and UDP datagrams to
/// one port, each in the buffer that it came in. For trying a NIC, and as what an application looks
/// like. RFC 826, RFC 792, RFC 862.
///
/// What it does not answer is dropped, and counted by its cause: frames that contradict themselves,
/// wrong checksums, IP options, fragments, other protocols and ports, other stations.
struct answering_host {
  wire::ethernet::mac_address mac;
  std::uint32_t address;  ///< 0x0a400002: 10.64.0.2
  std::uint16_t echo_port = 7;

  /// @par Callers each lane for its own packets
  /// @par Result `forward` for an answer, `drop` for everything else
  /// @par Bound the bytes of a frame: it is summed up once or twice
  // [snippet
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) const {
    namespace ether = wire::ethernet;
    auto* frame = p.header<ether::ethernet_header>(0);
    if (frame == nullptr || frame->source.is_group()) return p.refuse(cause::malformed);
    cause why = cause::unsupported;
    if (frame->is(ether::ether_type::arp)) why = detail::answer_arp(p, mac, address);
    if (frame->is(ether::ether_type::ipv4))
      why = frame->destination == mac ? answer_ipv4(p) : cause::not_for_us;
    if (why != cause::received) return p.refuse(why);
    frame->destination = frame->source;
    frame->source = mac;
    return packet_verdict::forward;
  }
  // snippet]

 private:
  using cause = packet_cause;
  static constexpr std::uint32_t at_ip = 14;
  static constexpr std::uint32_t at_data = 34;

  /// `received` if the packet is an answer now; else why there is none.
  GNSTOR_HD cause answer_ipv4(const packet& p) const {
    namespace ether = wire::ethernet;
    auto* ip = p.header<ether::ipv4_header>(at_ip);
    const cause problem = detail::problem_of_ipv4(ip, p.length() - at_ip);
    if (problem != cause::received) return problem;
    if (ip->destination != address) return cause::not_for_us;
    constexpr std::uint32_t first_multicast = 0xe0000000;
    if (ip->source == address || ip->source == 0 || ip->source >= first_multicast)
      return cause::malformed;
    if (ip->header_bytes() != sizeof *ip || ip->is_fragment()) return cause::unsupported;
    // What Ethernet filled a short frame up with is not answered.
    if (!p.resize(at_ip + ip->total_bytes)) return cause::malformed;
    cause why = cause::unsupported;
    if (ip->is(ether::ip_protocol::icmp)) why = detail::answer_echo(p, at_data);
    if (ip->is(ether::ip_protocol::udp)) why = answer_udp(p, *ip);
    if (why != cause::received) return why;
    ip->destination = ip->source;
    ip->source = address;  // the sum of both is the same
    detail::set_time_to_live(*ip, 64);
    return cause::received;
  }

  GNSTOR_HD cause answer_udp(const packet& p, const wire::ethernet::ipv4_header& ip) const {
    namespace ether = wire::ethernet;
    auto* udp = p.header<ether::udp_header>(at_data);
    const std::uint32_t length = p.length() - at_data;
    if (udp == nullptr || udp->total_bytes != length) return cause::malformed;
    const auto* bytes = reinterpret_cast<const unsigned char*>(udp);
    if (udp->checksum != 0 &&
        ether::pseudo_header(ip, udp->total_bytes).add_bytes(bytes, length).value() != 0) {
      return cause::wrong_checksum;
    }
    // Two echo servers would talk for ever.
    if (udp->destination != echo_port || udp->source == echo_port) return cause::unsupported;
    udp->destination = udp->source;
    udp->source = echo_port;  // the sum of both is the same
    return cause::received;
  }
};

static_assert(packet_application<answering_host>);

}  // namespace gnstor::inline v0
