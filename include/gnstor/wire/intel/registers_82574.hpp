#pragma once

#include <gnstor/wire/intel/ring_registers.hpp>

namespace gnstor::wire::intel {

/// Registers of an 82574, for queues 0 and 1, which RCTL and TCTL enable together. 82574 datasheet,
/// 10.2.
struct registers_82574 {
  static constexpr std::uint32_t receive_filter = 0x5008;          ///< RFCTL
  static constexpr std::uint32_t extended_descriptors = 1u << 15;  ///< of RFCTL: EXSTEN

  /// RDBAL and what follows; RCTL.
  GNSTOR_HD static constexpr ring_registers receive(std::uint32_t queue) {
    return ring_registers::at(0x2800 + 0x100 * queue, 0x0100, 1u << 1);
  }
  /// TDBAL and what follows; TCTL.
  GNSTOR_HD static constexpr ring_registers transmit(std::uint32_t queue) {
    return ring_registers::at(0x3800 + 0x100 * queue, 0x0400, 1u << 1);
  }
};

static_assert(registers_82574::receive(0).tail == 0x2818);
static_assert(registers_82574::transmit(1).tail == 0x3918);

}  // namespace gnstor::wire::intel
