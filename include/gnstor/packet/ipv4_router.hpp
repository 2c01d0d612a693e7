#pragma once

#include <gnstor/packet/icmp_error.hpp>
#include <gnstor/packet/ipv4_check.hpp>
#include <gnstor/packet/packet_answers.hpp>
#include <gnstor/packet/packet_application.hpp>
#include <gnstor/packet/route_table.hpp>
#include <gnstor/simt/clock.hpp>

namespace gnstor::inline v0 {

/// A packet application that forwards IPv4 packets by the longest prefix: the fast path of a router
/// as RFC 1812, 5.2 and 5.3 have it, one thread per packet.
///
/// What it does not forward it counts by cause. Where its flow sends out of the port that it
/// receives from (a one-armed router), it also answers ARP and pings for its own address, and tells
/// senders by ICMP what could not be forwarded.
struct ipv4_router {
  route_table table;
  wire::ethernet::mac_address mac;  ///< of its port: what is for another station it leaves alone
  std::uint32_t address = 0;        ///< 0x0a400002: 10.64.0.2; 0: it has none, and answers nothing
  bool is_one_armed = false;        ///< the flow's send port is its receive port
  std::uint16_t mtu = 1500;         ///< of the wire that it sends to
  std::uint32_t error_interval_us = 100'000;  ///< between two ICMP errors of a lane: RFC 1812,
                                              ///< 4.3.2.8
  std::uint64_t next_error_ns = 0;            ///< the lane's own: it sends none before

  /// @par Callers each lane for its own packets
  /// @par Result `forward` for what is routed or answered, `drop` for everything else
  /// @par Bound one or two loads of the table; where it answers, the bytes of a frame
  // [snippet
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) {
    namespace ether = wire::ethernet;
    auto* frame = p.header<ether::ethernet_header>(0);
    if (frame == nullptr || frame->source.is_group()) return p.refuse(cause::malformed);
    if (frame->is(ether::ether_type::arp)) return answer_arp(p);
    if (!frame->is(ether::ether_type::ipv4)) return p.refuse(cause::unsupported);
    if (!(frame->destination == mac)) return p.refuse(cause::not_for_us);
    auto* ip = p.header<ether::ipv4_header>(at_ip);
    const cause problem = problem_of(p, ip);
    if (problem != cause::received) return p.refuse(problem);
    if (address != 0 && ip->destination == address) return answer_echo(p);
    next_hop hop;
    icmp_error error;
    const cause why = judge(*ip, hop, error);
    if (why != cause::received) return tell(p, why, error);
    // What Ethernet filled a short frame up with stays here.
    if (!p.resize(at_ip + ip->total_bytes)) return p.refuse(cause::malformed);
    detail::set_time_to_live(*ip, static_cast<std::uint8_t>(ip->time_to_live - 1));
    frame->destination = hop.hardware;
    frame->source = mac;
    return packet_verdict::forward;
  }
  // snippet]

 private:
  using cause = packet_cause;
  static constexpr std::uint32_t at_ip = 14;

  /// Why a packet is neither forwarded nor answered, whoever it is for; `received`: no reason.
  /// RFC 1812, 5.2.2 and 5.3.7.
  GNSTOR_HD cause problem_of(const packet& p, const wire::ethernet::ipv4_header* ip) const {
    const cause problem = detail::problem_of_ipv4(ip, p.length() - at_ip);
    if (problem != cause::received) return problem;
    constexpr std::uint32_t first_multicast = 0xe0000000;
    constexpr std::uint32_t first_reserved = 0xf0000000;  // the broadcast address is behind it
    const std::uint32_t from = ip->source;
    const std::uint32_t to = ip->destination;
    if (is_of_this_host(from) || is_of_this_host(to) || from >= first_multicast ||
        to >= first_reserved || (address != 0 && from == address)) {
      return cause::martian;
    }
    if (to >= first_multicast || ip->header_bytes() != sizeof *ip) return cause::unsupported;
    return cause::received;
  }
  /// 0.0.0.0/8 or 127.0.0.0/8: never on a wire. RFC 1122, 3.2.1.3.
  GNSTOR_HD static constexpr bool is_of_this_host(std::uint32_t a) {
    return a >> 24 == 0 || a >> 24 == 127;
  }

  /// Finds the next hop; or why the packet does not go there, and what its sender hears.
  GNSTOR_HD cause judge(const wire::ethernet::ipv4_header& ip, next_hop& hop,
                        icmp_error& error) const {
    namespace ether = wire::ethernet;
    using state = next_hop::state_kind;
    constexpr std::uint8_t unreachable = ether::icmp_header::unreachable;
    if (!table.find(ip.destination, hop)) {
      error = {unreachable, icmp_error::network};
      return cause::no_route;
    }
    if (hop.state != state::reachable && hop.state != state::unresolved) {
      if (hop.state == state::unreachable) error = {unreachable, icmp_error::host};
      if (hop.state == state::prohibited) error = {unreachable, icmp_error::prohibited};
      return cause::no_route;
    }
    if (ip.time_to_live <= 1) {
      error = {ether::icmp_header::time_exceeded, icmp_error::in_transit};
      return cause::hop_limit;
    }
    if (ip.total_bytes > mtu) {
      if ((ip.fragment & ether::ipv4_header::dont_fragment) != 0)
        error = {unreachable, icmp_error::fragment_needed, mtu};
      return cause::too_big;
    }
    if (hop.state == state::reachable) return cause::received;
    error = {unreachable, icmp_error::host};
    return cause::no_neighbour;
  }

  /// Sends it back as an ICMP error, where one may be sent and this lane has sent none just now.
  GNSTOR_HD packet_verdict tell(const packet& p, cause why, const icmp_error& error) {
    if (!answers() || error.type == 0 || !icmp_error::may_be_about(p)) return p.refuse(why);
    const std::uint64_t now = simt::now_ns();
    if (now < next_error_ns || !error.write(p, mac, address)) return p.refuse(why);
    next_error_ns = now + std::uint64_t{error_interval_us} * 1000;
    p.count(why);
    p.count(cause::icmp_errors);
    return packet_verdict::forward;
  }

  GNSTOR_HD bool answers() const { return is_one_armed && address != 0; }

  GNSTOR_HD packet_verdict answer_arp(const packet& p) const {
    if (!answers()) return p.refuse(cause::unsupported);
    return send_back(p, detail::answer_arp(p, mac, address));
  }

  GNSTOR_HD packet_verdict answer_echo(const packet& p) const {
    namespace ether = wire::ethernet;
    auto* ip = p.header<ether::ipv4_header>(at_ip);
    if (!answers() || ip->is_fragment() || !ip->is(ether::ip_protocol::icmp))
      return p.refuse(cause::unsupported);
    if (!p.resize(at_ip + ip->total_bytes)) return p.refuse(cause::malformed);
    const cause why = detail::answer_echo(p, at_ip + sizeof *ip);
    if (why != cause::received) return p.refuse(why);
    ip->destination = ip->source;
    ip->source = address;  // the sum of both is the same
    detail::set_time_to_live(*ip, 64);
    return send_back(p, why);
  }

  GNSTOR_HD packet_verdict send_back(const packet& p, cause why) const {
    if (why != cause::received) return p.refuse(why);
    auto* frame = p.header<wire::ethernet::ethernet_header>(0);
    frame->destination = frame->source;
    frame->source = mac;
    return packet_verdict::forward;
  }
};

static_assert(packet_application<ipv4_router> && sizeof(ipv4_router) <= 64);

}  // namespace gnstor::inline v0
