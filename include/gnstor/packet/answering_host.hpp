#pragma once

#include <gnstor/packet/packet_answers.hpp>
#include <gnstor/packet/packet_application.hpp>

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
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) const {
    return detail::answer_frame(p, mac, address, [this](const auto&, const auto& udp) {
      // Two echo servers would talk for ever.
      const bool echoes = udp.destination == echo_port && udp.source != echo_port;
      return echoes ? packet_cause::received : packet_cause::unsupported;
    });
  }
};

static_assert(packet_application<answering_host>);

}  // namespace gnstor::inline v0
