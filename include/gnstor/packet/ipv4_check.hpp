#pragma once
/// What every application asks of an IPv4 header first.

#include <gnstor/packet/packet_cause.hpp>
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

}  // namespace gnstor::detail
