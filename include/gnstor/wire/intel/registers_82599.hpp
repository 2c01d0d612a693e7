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

  static constexpr std::uint32_t receive_checksums = 0x5000;  ///< RXCSUM
  static constexpr std::uint32_t reports_hash = 1u << 13;     ///< of RXCSUM: PCSD

  // Receive-side scaling: the low seven bits of the hash choose an entry of the redirection table,
  // whose low four bits are the queue.
  static constexpr std::uint32_t multiple_queues = 0x5818;    ///< MRQC
  static constexpr std::uint32_t multiple_mode = 15;          ///< of MRQC: MRQE
  static constexpr std::uint32_t rss_alone = 1;               ///< of MRQC: MRQE
  static constexpr std::uint32_t hashes_ipv4_tcp = 1u << 16;  ///< of MRQC, as the others
  static constexpr std::uint32_t hashes_ipv4 = 1u << 17;
  static constexpr std::uint32_t hashes_ipv6 = 1u << 20;
  static constexpr std::uint32_t hashes_ipv6_tcp = 1u << 21;
  static constexpr std::uint32_t hashes_ipv4_udp = 1u << 22;
  static constexpr std::uint32_t hashes_ipv6_udp = 1u << 23;
  static constexpr std::uint32_t hashes_all = hashes_ipv4_tcp | hashes_ipv4 | hashes_ipv6 |
                                              hashes_ipv6_tcp | hashes_ipv4_udp | hashes_ipv6_udp;
  static constexpr std::uint32_t redirection_entries = 128;  ///< of a byte each, in 32 words
  static constexpr std::uint32_t most_rss_queues = 16;

  /// RETA: the word that has entry `index`, which is its byte `index % 4`.
  GNSTOR_HD static constexpr std::uint32_t redirection(std::uint32_t index) {
    return 0x5c00 + index / 4 * 4;
  }
  /// RSSRK: the word that has byte `index` of the key, which is its byte `index % 4`.
  GNSTOR_HD static constexpr std::uint32_t rss_key(std::uint32_t index) {
    return 0x5c80 + index / 4 * 4;
  }

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
static_assert(registers_82599::receive(15).tail == 0x13d8);
static_assert(registers_82599::redirection(127) == 0x5c7c);
static_assert(registers_82599::rss_key(39) == 0x5ca4);

}  // namespace gnstor::wire::intel
