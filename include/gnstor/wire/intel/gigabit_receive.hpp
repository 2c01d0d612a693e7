#pragma once

#include <gnstor/wire/intel/descriptor.hpp>
#include <gnstor/wire/intel/frame_error.hpp>

namespace gnstor::wire::intel {

/// What the receive formats of Intel's gigabit controllers have in common: a byte of status, a byte
/// of errors, and the length in a word beside them. 82574 datasheet, 7.1.3 and 7.1.4.
/// @tparam ErrorsAt the first bit of the errors in the word that has the status
template <std::uint32_t ErrorsAt>
struct gigabit_receive {
  static constexpr std::uint32_t end_of_packet = 1u << 1;
  static constexpr std::uint32_t checksums_unknown = 1u << 2;
  static constexpr std::uint32_t has_vlan = 1u << 3;
  static constexpr std::uint32_t transport_checked = 1u << 5;
  static constexpr std::uint32_t ip_checked = 1u << 6;
  static constexpr std::uint32_t check_sequence_error = 1u << ErrorsAt;
  static constexpr std::uint32_t symbol_error = 2u << ErrorsAt;
  static constexpr std::uint32_t sequence_error = 4u << ErrorsAt;
  static constexpr std::uint32_t carrier_error = 16u << ErrorsAt;
  static constexpr std::uint32_t transport_error = 32u << ErrorsAt;
  static constexpr std::uint32_t ip_error = 64u << ErrorsAt;
  static constexpr std::uint32_t data_error = 128u << ErrorsAt;

  GNSTOR_HD static constexpr std::uint32_t length(std::uint32_t, std::uint32_t other) {
    return other & 0xffff;
  }
  GNSTOR_HD static constexpr bool ends_packet(std::uint32_t done) {
    return (done & end_of_packet) != 0;
  }
  GNSTOR_HD static constexpr frame_error error(std::uint32_t done) {
    if ((done & check_sequence_error) != 0) return frame_error::check_sequence;
    if ((done & (symbol_error | sequence_error | carrier_error | data_error)) != 0)
      return frame_error::other;
    if ((done & checksums_unknown) != 0) return frame_error::none;
    const bool ip = (done & ip_checked) != 0 && (done & ip_error) != 0;
    const bool transport = (done & transport_checked) != 0 && (done & transport_error) != 0;
    return ip || transport ? frame_error::checksum : frame_error::none;
  }
};

}  // namespace gnstor::wire::intel
