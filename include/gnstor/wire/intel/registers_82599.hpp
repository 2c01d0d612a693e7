#pragma once

#include <gnstor/wire/intel/ring_registers.hpp>

namespace gnstor::wire::intel {

/// Registers of an 82599, for queues 0 to 63. 82599 datasheet, 8.2.3.
struct registers_82599 {
  static constexpr std::uint32_t advanced_one_buffer = 1u << 25;  ///< `receive_split`, DESCTYPE
  static constexpr std::uint32_t drop_when_full = 1u << 28;       ///< `receive_split`, DROP_EN
  static constexpr std::uint32_t write_head_back = 1;             ///< of `head_address_low`

  static constexpr std::uint32_t check_sequence_errors = 0x4000;  ///< frames: CRCERRS
  static constexpr std::uint32_t missed = 0x3fa0;         ///< for want of descriptors: RXMPC
  static constexpr std::uint32_t undersize = 0x40a4;      ///< RUC
  static constexpr std::uint32_t oversize = 0x40ac;       ///< ROC
  static constexpr std::uint32_t good_received = 0x4074;  ///< GPRC
  static constexpr std::uint32_t good_sent = 0x4080;      ///< GPTC

  /// RDBAL and what follows; RXDCTL.
  GNSTOR_HD static constexpr ring_registers receive(std::uint32_t queue) {
    const std::uint32_t r = 0x1000 + 0x40 * queue;
    return ring_registers::at(r, r + 0x28, 1u << 25);
  }
  /// TDBAL and what follows; TXDCTL.
  GNSTOR_HD static constexpr ring_registers transmit(std::uint32_t queue) {
    const std::uint32_t r = 0x6000 + 0x40 * queue;
    return ring_registers::at(r, r + 0x28, 1u << 25);
  }
  /// SRRCTL: size of buffers in KiB, format.
  GNSTOR_HD static constexpr std::uint32_t receive_split(std::uint32_t queue) {
    return 0x1014 + 0x40 * queue;
  }
  /// TDWBAL: where the NIC writes the head of a transmit ring; TDWBAH follows.
  GNSTOR_HD static constexpr std::uint32_t head_address_low(std::uint32_t queue) {
    return 0x6038 + 0x40 * queue;
  }
};

static_assert(registers_82599::receive(0).tail == 0x1018);
static_assert(registers_82599::receive(1).control == 0x1068);
static_assert(registers_82599::transmit(0).tail == 0x6018);
static_assert(registers_82599::head_address_low(2) == 0x60b8);

}  // namespace gnstor::wire::intel
