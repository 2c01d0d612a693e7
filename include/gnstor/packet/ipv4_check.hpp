#pragma once
/// What every application asks of an IPv4 header first.

#include <gnstor/packet/packet.hpp>
#include <gnstor/wire/ethernet/ethernet_header.hpp>
#include <gnstor/wire/ethernet/internet_checksum.hpp>
#include <gnstor/wire/ethernet/ipv4_header.hpp>

namespace gnstor::detail {

/// What is wrong with an IPv4 header, and how long it says that its packet is; `received`: nothing.
/// @param ip null where the frame ends before
/// @param room bytes from the header on
GNSTOR_HD inline packet_cause problem_of_ipv4(const wire::ethernet::ipv4_header* ip,
                                              std::uint32_t room) {
  namespace ether = wire::ethernet;
  if (ip == nullptr || ip->version() != 4 || ip->header_bytes() < sizeof *ip ||
      ip->total_bytes < ip->header_bytes() || ip->total_bytes > room) {
    return packet_cause::malformed;
  }
  const auto* const bytes = reinterpret_cast<const unsigned char*>(ip);
  return ether::internet_checksum().add_bytes(bytes, ip->header_bytes()).value() == 0
             ? packet_cause::received
             : packet_cause::wrong_checksum;
}

/// The IPv4 header of a frame; null, and `why`, where there is none that is sound.
GNSTOR_HD inline wire::ethernet::ipv4_header* ipv4_of(const packet& p, packet_cause& why) {
  namespace ether = wire::ethernet;
  constexpr std::uint32_t at = sizeof(ether::ethernet_header);
  const auto* const frame = p.header<ether::ethernet_header>(0);
  why = packet_cause::malformed;
  if (frame == nullptr) return nullptr;
  why = packet_cause::unsupported;
  if (!frame->is(ether::ether_type::ipv4)) return nullptr;
  auto* const ip = p.header<ether::ipv4_header>(at);
  why = problem_of_ipv4(ip, p.length() - at);
  return why == packet_cause::received ? ip : nullptr;
}

}  // namespace gnstor::detail
