#pragma once

#include <gnstor/wire/intel/descriptor.hpp>
#include <gnstor/wire/intel/frame_error.hpp>
#include <gnstor/wire/intel/rss_type.hpp>

namespace gnstor::wire::intel {

/// The advanced receive format of the 82599 and the 82576, one buffer per descriptor.
///
/// Read: address, then eight bytes of header address, 0 here. Written back: packet type and hash,
/// status and errors at 8, length at 12, VLAN at 14. The header address overlaps the done bit: it
/// is 0 whenever a descriptor is armed. 82599 datasheet, 7.1.6.
struct advanced_receive {
  static constexpr std::uint32_t end_of_packet = 1u << 1;
  static constexpr std::uint32_t has_vlan = 1u << 3;
  static constexpr std::uint32_t transport_checked = 1u << 5;
  static constexpr std::uint32_t ip_checked = 1u << 6;
  static constexpr std::uint32_t check_sequence_error = 1u << 24;
  static constexpr std::uint32_t length_error = 1u << 25;
  static constexpr std::uint32_t packet_error = 1u << 27;
  static constexpr std::uint32_t oversize_error = 1u << 28;
  static constexpr std::uint32_t undersize_error = 1u << 29;
  static constexpr std::uint32_t transport_error = 1u << 30;
  static constexpr std::uint32_t ip_error = 1u << 31;

  /// The word that the NIC writes last, and the one beside it.
  GNSTOR_HD static constexpr std::uint32_t& done_word(descriptor& d) { return d.lower; }
  GNSTOR_HD static constexpr std::uint32_t& other_word(descriptor& d) { return d.upper; }

  /// What the first eight bytes say when they are written back: the type of the hash in bits 3:0,
  /// the hash in 63:32. Packet type, RSC count and header length, between them, are not used.
  GNSTOR_HD static constexpr std::uint64_t hashed(rss_type type, std::uint32_t hash) {
    return std::uint64_t{hash} << 32 | static_cast<std::uint8_t>(type);
  }
  GNSTOR_HD static constexpr rss_type hash_type(const descriptor& d) {
    return static_cast<rss_type>(d.address & 15);
  }
  GNSTOR_HD static constexpr std::uint32_t hash(const descriptor& d) {
    return static_cast<std::uint32_t>(d.address >> 32);
  }

  /// @param done what `done_word` held, @param other what `other_word` held
  GNSTOR_HD static constexpr std::uint32_t length(std::uint32_t, std::uint32_t other) {
    return other & 0xffff;
  }
  GNSTOR_HD static constexpr bool ends_packet(std::uint32_t done) {
    return (done & end_of_packet) != 0;
  }
  GNSTOR_HD static constexpr frame_error error(std::uint32_t done) {
    if ((done & check_sequence_error) != 0) return frame_error::check_sequence;
    if ((done & (length_error | oversize_error | undersize_error)) != 0) return frame_error::length;
    if ((done & packet_error) != 0) return frame_error::other;
    const bool ip = (done & ip_checked) != 0 && (done & ip_error) != 0;
    const bool transport = (done & transport_checked) != 0 && (done & transport_error) != 0;
    return ip || transport ? frame_error::checksum : frame_error::none;
  }
};

}  // namespace gnstor::wire::intel
