#pragma once

#include <gnstor/packet/packet_flow_key.hpp>
#include <gnstor/wire/ethernet/ethernet_header.hpp>
#include <gnstor/wire/ethernet/icmp_header.hpp>
#include <gnstor/wire/ethernet/ipv4_header.hpp>
#include <gnstor/wire/ethernet/tcp_header.hpp>
#include <gnstor/wire/ethernet/udp_header.hpp>

namespace gnstor::inline v0 {

/// What an Ethernet frame carries: its 5-tuple and its payload, which lies wholly in the frame. RFC
/// 791, 9293, 768, 792.
///
/// The payload is what follows the header of TCP, UDP or ICMP (eight bytes), or of IP where it is
/// another protocol; what Ethernet filled the frame up with is no part of it.
struct payload_view {
  enum class kind : std::uint8_t {
    whole,      ///< key and payload are good
    not_ipv4,   ///< another protocol of Ethernet, or a frame too short to have one
    malformed,  ///< a header is cut off, or contradicts what is around it
    fragment,   ///< its payload cannot be looked at alone
  };

  kind what = kind::not_ipv4;
  bool has_options = false;  ///< IP's; they are skipped
  packet_flow_key key{};
  const unsigned char* bytes = nullptr;
  std::uint32_t length = 0;

  /// @param frame at an even address
  /// @par Bound none: no loop
  GNSTOR_HD static payload_view of(const unsigned char* frame, std::uint32_t length) {
    namespace ether = wire::ethernet;
    payload_view v;
    const auto* const link = at<ether::ethernet_header>(frame, length, 0);
    if (link == nullptr || !link->is(ether::ether_type::ipv4)) return v;
    v.what = kind::malformed;
    constexpr std::uint32_t ip_at = sizeof(ether::ethernet_header);
    const auto* const ip = at<ether::ipv4_header>(frame, length, ip_at);
    if (ip == nullptr || ip->version() != 4) return v;
    const std::uint32_t header = ip->header_bytes();
    if (header < sizeof *ip || ip->total_bytes < header || ip->total_bytes > length - ip_at)
      return v;
    v.key = {ip->source, ip->destination, 0, 0, ip->protocol};
    v.has_options = header != sizeof *ip;
    if (ip->is_fragment()) {
      v.what = kind::fragment;
      return v;
    }
    v.take_transport(frame, ip_at + header, ip_at + ip->total_bytes);
    return v;
  }

 private:
  template <class Header>
  GNSTOR_HD static const Header* at(const unsigned char* frame, std::uint32_t length,
                                    std::uint32_t offset) {
    if (offset > length || sizeof(Header) > length - offset) return nullptr;
    return reinterpret_cast<const Header*>(frame + offset);
  }
  /// @param from where IP's header ends, @param end of the datagram
  GNSTOR_HD void take_transport(const unsigned char* frame, std::uint32_t from, std::uint32_t end) {
    namespace ether = wire::ethernet;
    std::uint32_t header = 0;
    if (key.protocol == static_cast<std::uint32_t>(ether::ip_protocol::tcp)) {
      const auto* const tcp = at<ether::tcp_header>(frame, end, from);
      if (tcp == nullptr || tcp->header_bytes() < sizeof *tcp || tcp->header_bytes() > end - from)
        return;
      key.source_port = tcp->source;
      key.destination_port = tcp->destination;
      header = tcp->header_bytes();
    } else if (key.protocol == static_cast<std::uint32_t>(ether::ip_protocol::udp)) {
      const auto* const udp = at<ether::udp_header>(frame, end, from);
      if (udp == nullptr || udp->total_bytes < sizeof *udp || udp->total_bytes > end - from) return;
      key.source_port = udp->source;
      key.destination_port = udp->destination;
      header = sizeof *udp;
      end = from + udp->total_bytes;
    } else if (key.protocol == static_cast<std::uint32_t>(ether::ip_protocol::icmp)) {
      if (at<ether::icmp_header>(frame, end, from) == nullptr) return;
      header = sizeof(ether::icmp_header);
    }
    what = kind::whole;
    bytes = frame + from + header;
    length = end - from - header;
  }
};

}  // namespace gnstor::inline v0
