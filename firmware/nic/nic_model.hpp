#pragma once
/// Which controller is emulated: its registers and its descriptors.

#include <gnstor/wire/intel/advanced_receive.hpp>
#include <gnstor/wire/intel/advanced_transmit.hpp>
#include <gnstor/wire/intel/extended_receive.hpp>
#include <gnstor/wire/intel/extended_transmit.hpp>
#include <gnstor/wire/intel/registers_82574.hpp>
#include <gnstor/wire/intel/registers_82599.hpp>

namespace gnstor::fw {

/// The 82599: GPU-Ether's NIC.
struct nic_82599 {
  using registers = wire::intel::registers_82599;
  using receive_format = wire::intel::advanced_receive;
  using transmit_format = wire::intel::advanced_transmit;
  /// What a descriptor says of which no frame came.
  static constexpr std::uint32_t no_frame = receive_format::packet_error;
};

/// The 82574, with extended descriptors: QEMU's e1000e.
struct nic_82574 {
  using registers = wire::intel::registers_82574;
  using receive_format = wire::intel::extended_receive;
  using transmit_format = wire::intel::extended_transmit;
  static constexpr std::uint32_t no_frame = receive_format::data_error;
};

}  // namespace gnstor::fw
