#pragma once

#include <gnstor/wire/intel/descriptor.hpp>
#include <gnstor/wire/intel/transmit_command.hpp>

namespace gnstor::wire::intel {

/// The extended transmit data format of the 82574: length in bits 19:0 at 8, type 1 in 23:20,
/// command in 31:24; at 12 options, VLAN, and the done bit. 82574 datasheet, 7.2.9.
struct extended_transmit {
  static constexpr std::uint32_t type = 1u << 20;
  static constexpr std::uint32_t type_mask = 15u << 20;
  static constexpr std::uint32_t max_bytes = 0xfffff;

  GNSTOR_HD static constexpr descriptor frame(std::uint64_t address, std::uint32_t bytes) {
    return {address, transmit_command::frame | type | bytes, 0};
  }
  GNSTOR_HD static constexpr bool is_data(const descriptor& d) {
    return (d.lower & transmit_command::extended) != 0 && (d.lower & type_mask) == type;
  }
  GNSTOR_HD static constexpr std::uint32_t length(const descriptor& d) {
    return d.lower & max_bytes;
  }
};

}  // namespace gnstor::wire::intel
