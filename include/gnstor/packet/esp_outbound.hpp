#pragma once

#include <gnstor/packet/ipv4_check.hpp>
#include <gnstor/packet/packet_answers.hpp>
#include <gnstor/packet/packet_application.hpp>
#include <gnstor/packet/security_association.hpp>

namespace gnstor::inline v0 {

/// A packet application that sends IPv4 packets through an ESP tunnel: whole, encrypted and
/// authenticated, behind headers from gateway to gateway. RFC 4303, 3.3.
///
/// A packet's sequence number is its place in the order of sending, so that lanes agree on it
/// without a word of their own, and the receiver sees them in order. What is dropped leaves a gap.
template <esp_transform Transform>
struct esp_outbound {
  const security_association<Transform>* association = nullptr;
  wire::ethernet::mac_address mac;   ///< of the port that it sends by
  wire::ethernet::mac_address next;  ///< of the other gateway, or the router on the way
  std::uint16_t mtu = 1500;          ///< of the wire to there

  /// @par Callers each lane for its own packets
  /// @par Bound the bytes of a frame, encrypted and summed up
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) const {
    namespace ether = wire::ethernet;
    packet_cause why{};
    auto* const ip = detail::ipv4_of(p, why);
    if (ip == nullptr) return p.refuse(why);
    if (!association->admits(ip->source, ip->destination))
      return p.refuse(packet_cause::no_association);
    if (ip->time_to_live <= 1) return p.refuse(packet_cause::hop_limit);
    const std::uint64_t sequence = association->first_sequence + p.position();
    if (sequence == 0 || sequence > 0xffffffff) return p.refuse(packet_cause::exhausted);

    const std::uint32_t inner = ip->total_bytes;
    const std::uint32_t padding = (4 - (inner + sizeof(ether::esp_trailer)) % 4) % 4;
    const std::uint32_t plain =
        inner + padding + static_cast<std::uint32_t>(sizeof(ether::esp_trailer));
    const std::uint32_t outer = added + plain + Transform::check_bytes;
    if (outer > mtu) return p.refuse(packet_cause::too_big);
    if (!p.grow_front(static_cast<std::int32_t>(added))) return p.refuse(packet_cause::too_big);
    if (!p.resize(at_ip + outer)) return p.refuse(packet_cause::too_big);
    detail::set_time_to_live(*ip, static_cast<std::uint8_t>(ip->time_to_live - 1));
    const ether::ipv4_header seen = *ip;

    unsigned char* const esp = p.data() + at_ip + sizeof(ether::ipv4_header);
    unsigned char* const tail = p.data() + at_ip + added + inner;
    for (std::uint32_t k = 0; k < padding; ++k) tail[k] = static_cast<unsigned char>(k + 1);
    tail[padding] = static_cast<unsigned char>(padding);
    tail[padding + 1] = ether::esp_trailer::ipv4;
    auto* const head = reinterpret_cast<ether::esp_header*>(esp);
    head->spi = association->spi;
    head->sequence = static_cast<std::uint32_t>(sequence);
    association->transform.seal(esp, plain);
    put_headers(p, seen, outer, static_cast<std::uint16_t>(sequence));
    return packet_verdict::forward;
  }

 private:
  static constexpr std::uint32_t at_ip = 14;
  /// Before the packet: an IPv4 header, the ESP header, the vector.
  static constexpr std::uint32_t added = 20 + 8 + Transform::vector_bytes;

  /// RFC 4301, 5.1.2.1.
  GNSTOR_HD void put_headers(const packet& p, const wire::ethernet::ipv4_header& seen,
                             std::uint32_t bytes, std::uint16_t identification) const {
    namespace ether = wire::ethernet;
    auto* const frame = p.header<ether::ethernet_header>(0);
    frame->destination = next;
    frame->source = mac;
    frame->type = static_cast<std::uint16_t>(ether::ether_type::ipv4);
    auto* const ip = p.header<ether::ipv4_header>(at_ip);
    ip->version_words = ether::ipv4_header::without_options;
    ip->service = seen.service;
    ip->total_bytes = static_cast<std::uint16_t>(bytes);
    ip->identification = identification;
    ip->fragment = static_cast<std::uint16_t>(seen.fragment & ether::ipv4_header::dont_fragment);
    ip->time_to_live = 64;
    ip->protocol = static_cast<std::uint8_t>(ether::ip_protocol::esp);
    ip->checksum = 0;
    ip->source = association->source;
    ip->destination = association->destination;
    const auto* const words = reinterpret_cast<const unsigned char*>(ip);
    ip->checksum = ether::internet_checksum().add_bytes(words, sizeof *ip).value();
  }
};

}  // namespace gnstor::inline v0
