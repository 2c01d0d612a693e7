#pragma once

#include <gnstor/wire/intel/descriptor.hpp>
#include <gnstor/wire/intel/transmit_command.hpp>

namespace gnstor::wire::intel {

/// The advanced transmit data format of the 82599 and the 82576: length in bits 15:0 at 8, type 3
/// in 23:20, command in 31:24; at 12 the length of the whole packet in 31:14, and the done bit.
/// 82599 datasheet, 7.2.3.2.4.
struct advanced_transmit {
  static constexpr std::uint32_t type = 3u << 20;
  static constexpr std::uint32_t type_mask = 15u << 20;
  static constexpr std::uint32_t max_bytes = 0xffff;

  /// A frame of `bytes` in one buffer at the DMA address `address`.
  GNSTOR_HD static constexpr descriptor frame(std::uint64_t address, std::uint32_t bytes) {
    return {address, transmit_command::frame | type | bytes, bytes << 14};
  }
  GNSTOR_HD static constexpr bool is_data(const descriptor& d) {
    return (d.lower & transmit_command::extended) != 0 && (d.lower & type_mask) == type;
  }
  GNSTOR_HD static constexpr std::uint32_t length(const descriptor& d) {
    return d.lower & max_bytes;
  }
};

}  // namespace gnstor::wire::intel
