#pragma once

#include <gnstor/wire/intel/ring_registers.hpp>

namespace gnstor::wire::intel {

/// Registers of an 82574, for queues 0 and 1, which RCTL and TCTL enable together. 82574 datasheet,
/// 10.2; the same numbers are in Linux, drivers/net/ethernet/intel/e1000e/regs.h and defines.h.
struct registers_82574 {
  static constexpr std::uint32_t control = 0x0000;          ///< CTRL
  static constexpr std::uint32_t set_link_up = 1u << 6;     ///< of CTRL: SLU
  static constexpr std::uint32_t force_speed = 1u << 11;    ///< of CTRL: FRCSPD
  static constexpr std::uint32_t force_duplex = 1u << 12;   ///< of CTRL: FRCDPLX
  static constexpr std::uint32_t reset = 1u << 26;          ///< of CTRL: RST, clears itself
  static constexpr std::uint32_t status = 0x0008;           ///< STATUS
  static constexpr std::uint32_t link_up = 1u << 1;         ///< of STATUS: LU
  static constexpr std::uint32_t speed_shift = 6;           ///< of STATUS: 10, 100, 1000, 1000 Mb/s
  static constexpr std::uint32_t nvm_control = 0x0010;      ///< EECD
  static constexpr std::uint32_t nvm_was_read = 1u << 9;    ///< of EECD: AUTO_RD
  static constexpr std::uint32_t phy_access = 0x0020;       ///< MDIC
  static constexpr std::uint32_t interrupt_cause = 0x00c0;  ///< ICR, cleared by reading
  static constexpr std::uint32_t interrupts_off = 0x00d8;   ///< IMC
  static constexpr std::uint32_t receive_control = 0x0100;  ///< RCTL
  static constexpr std::uint32_t any_unicast = 1u << 3;     ///< of RCTL: UPE
  static constexpr std::uint32_t any_multicast = 1u << 4;   ///< of RCTL: MPE
  static constexpr std::uint32_t long_frames = 1u << 5;     ///< of RCTL: LPE, beyond 1,522 bytes
  static constexpr std::uint32_t broadcast = 1u << 15;      ///< of RCTL: BAM
  static constexpr std::uint32_t strip_check_sequence = 1u << 26;  ///< of RCTL: SECRC
  static constexpr std::uint32_t transmit_control = 0x0400;        ///< TCTL
  static constexpr std::uint32_t pad_short = 1u << 3;              ///< of TCTL: PSP
  /// Of TCTL, for half duplex: 15 tries (CT), 64 byte times (COLD).
  static constexpr std::uint32_t collisions = 15u << 4 | 63u << 12;
  static constexpr std::uint32_t gap = 0x0410;  ///< TIPG
  static constexpr std::uint32_t usual_gap = 8 | 8 << 10 | 6 << 20;
  static constexpr std::uint32_t receive_checksums = 0x5000;       ///< RXCSUM
  static constexpr std::uint32_t check_ip = 1u << 8;               ///< of RXCSUM: IPOFL
  static constexpr std::uint32_t check_transport = 1u << 9;        ///< of RXCSUM: TUOFL
  static constexpr std::uint32_t receive_filter = 0x5008;          ///< RFCTL
  static constexpr std::uint32_t extended_descriptors = 1u << 15;  ///< of RFCTL: EXSTEN
  static constexpr std::uint32_t multicast_table = 0x5200;         ///< MTA: 128 words
  static constexpr std::uint32_t multicast_words = 128;
  static constexpr std::uint32_t address_low = 0x5400;      ///< RAL(0)
  static constexpr std::uint32_t address_high = 0x5404;     ///< RAH(0)
  static constexpr std::uint32_t address_valid = 1u << 31;  ///< of RAH: AV

  // Statistics, cleared by reading: frames.
  static constexpr std::uint32_t check_sequence_errors = 0x4000;  ///< CRCERRS
  static constexpr std::uint32_t missed = 0x4010;                 ///< MPC
  static constexpr std::uint32_t good_received = 0x4074;          ///< GPRC
  static constexpr std::uint32_t good_sent = 0x4080;              ///< GPTC
  static constexpr std::uint32_t undersize = 0x40a4;              ///< RUC
  static constexpr std::uint32_t oversize = 0x40ac;               ///< ROC

  /// Of RXDCTL and TXDCTL: count descriptors, write each back at once (WTHRESH 1); TXDCTL also
  /// wants bit 22.
  static constexpr std::uint32_t write_back_each = 1u << 24 | 1u << 16;
  static constexpr std::uint32_t transmit_write_back = write_back_each | 1u << 22;

  /// MDIC: an access to register `index` of the PHY, whose address is 1.
  GNSTOR_HD static constexpr std::uint32_t phy_read(std::uint32_t index) {
    return 2u << 26 | 1u << 21 | index << 16;
  }
  GNSTOR_HD static constexpr std::uint32_t phy_write(std::uint32_t index, std::uint16_t value) {
    return 1u << 26 | 1u << 21 | index << 16 | value;
  }
  static constexpr std::uint32_t phy_done = 1u << 28;
  static constexpr std::uint32_t phy_error = 1u << 30;

  /// Of RCTL: BSIZE and BSEX for buffers of `bytes`; all ones where there is no such size.
  GNSTOR_HD static constexpr std::uint32_t buffer_size(std::uint32_t bytes) {
    constexpr std::uint32_t extension = 1u << 25;
    switch (bytes) {
      case 2048: return 0;
      case 4096: return extension | 3u << 16;
      case 8192: return extension | 2u << 16;
      case 16384: return extension | 1u << 16;
      default: return ~std::uint32_t{0};
    }
  }
  /// RXDCTL and TXDCTL of queue 0.
  static constexpr std::uint32_t receive_thresholds = 0x2828;
  static constexpr std::uint32_t transmit_thresholds = 0x3828;

  /// RDBAL and what follows; RCTL.
  GNSTOR_HD static constexpr ring_registers receive(std::uint32_t queue) {
    return ring_registers::at(0x2800 + 0x100 * queue, 0x0100, 1u << 1);
  }
  /// TDBAL and what follows; TCTL.
  GNSTOR_HD static constexpr ring_registers transmit(std::uint32_t queue) {
    return ring_registers::at(0x3800 + 0x100 * queue, 0x0400, 1u << 1);
  }
};

static_assert(registers_82574::receive(0).control == registers_82574::receive_control);
static_assert(registers_82574::transmit(0).control == registers_82574::transmit_control);
static_assert(registers_82574::usual_gap == 0x00602008);
static_assert(registers_82574::receive(0).tail == 0x2818);
static_assert(registers_82574::transmit(1).tail == 0x3918);

}  // namespace gnstor::wire::intel
