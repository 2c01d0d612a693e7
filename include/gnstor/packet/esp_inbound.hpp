#pragma once

#include <gnstor/packet/ipv4_check.hpp>
#include <gnstor/packet/packet_answers.hpp>
#include <gnstor/packet/packet_application.hpp>
#include <gnstor/packet/security_association.hpp>

namespace gnstor::inline v0 {

/// A packet application that takes IPv4 packets out of an ESP tunnel, and hands on those that are
/// authentic, new, and of addresses that the association admits. RFC 4303, 3.4.
template <esp_transform Transform>
struct esp_inbound {
  security_association<Transform>* association = nullptr;
  wire::ethernet::mac_address mac;   ///< of the port that it sends by
  wire::ethernet::mac_address next;  ///< of who gets the packets

  /// @par Callers each lane for its own packets
  /// @par Bound the bytes of a frame, summed up and decrypted
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) const {
    namespace ether = wire::ethernet;
    packet_cause why{};
    const auto* const ip = detail::ipv4_of(p, why);
    if (ip == nullptr) return p.refuse(why);
    if (!ip->is(ether::ip_protocol::esp)) return p.refuse(packet_cause::unsupported);
    if (ip->destination != association->destination) return p.refuse(packet_cause::not_for_us);
    if (ip->is_fragment()) return p.refuse(packet_cause::unsupported);
    const std::uint32_t at_plain = at_ip + ip->header_bytes() + overhead;
    std::uint32_t plain = at_ip + ip->total_bytes;
    const std::uint32_t least = at_plain + sizeof(ether::esp_trailer) + Transform::check_bytes;
    if (plain < least) return p.refuse(packet_cause::malformed);
    plain -= at_plain + Transform::check_bytes;
    why = open(p, p.data() + at_plain - overhead, plain);
    if (why != packet_cause::received) return p.refuse(why);
    return hand_on(p, at_plain, plain);
  }

 private:
  static constexpr std::uint32_t at_ip = 14;
  static constexpr std::uint32_t overhead = 8 + Transform::vector_bytes;

  /// `received`: it is authentic and new, and plain.
  GNSTOR_HD packet_cause open(const packet&, unsigned char* esp, std::uint32_t plain) const {
    const auto* const head = reinterpret_cast<const wire::ethernet::esp_header*>(esp);
    if (head->spi != association->spi) return packet_cause::no_association;
    const std::uint32_t sequence = head->sequence;
    if (!association->window.may_be_new(sequence)) return packet_cause::replayed;
    if (!association->transform.open(esp, plain)) return packet_cause::wrong_check;
    // Not before: who cannot sign must not move the window.
    return association->window.accept(sequence) ? packet_cause::received : packet_cause::replayed;
  }

  /// Takes the outer headers, the padding and the check value away.
  GNSTOR_HD packet_verdict hand_on(const packet& p, std::uint32_t at_plain,
                                   std::uint32_t plain) const {
    namespace ether = wire::ethernet;
    const unsigned char* const end = p.data() + at_plain + plain;
    const std::uint32_t padding = end[-2];
    if (padding + sizeof(ether::esp_trailer) > plain) return p.refuse(packet_cause::malformed);
    if (end[-1] != ether::esp_trailer::ipv4) return p.refuse(packet_cause::unsupported);
    for (std::uint32_t k = 0; k < padding; ++k) {
      if (end[static_cast<int>(k) - 2 - static_cast<int>(padding)] != k + 1)
        return p.refuse(packet_cause::malformed);
    }
    auto* const ip = p.header<ether::ipv4_header>(at_plain);
    const auto room = static_cast<std::uint32_t>(plain - padding - sizeof(ether::esp_trailer));
    const packet_cause problem = detail::problem_of_ipv4(ip, room);
    if (problem != packet_cause::received) return p.refuse(problem);
    if (!association->admits(ip->source, ip->destination))
      return p.refuse(packet_cause::no_association);
    if (ip->time_to_live <= 1) return p.refuse(packet_cause::hop_limit);
    detail::set_time_to_live(*ip, static_cast<std::uint8_t>(ip->time_to_live - 1));
    const std::uint32_t bytes = ip->total_bytes;
    const auto away = static_cast<std::int32_t>(at_plain - at_ip);
    if (!p.grow_front(-away) || !p.resize(at_ip + bytes)) return p.refuse(packet_cause::malformed);
    auto* const frame = p.header<ether::ethernet_header>(0);
    frame->destination = next;
    frame->source = mac;
    frame->type = static_cast<std::uint16_t>(ether::ether_type::ipv4);
    return packet_verdict::forward;
  }
};

}  // namespace gnstor::inline v0
