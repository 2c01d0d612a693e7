#pragma once
/// Fields of a controller's properties CAP, VS, CC and CSTS. NVMe Base 2.3, 3.1.4.

#include <gnstor/core/config.hpp>

namespace gnstor::wire::nvme {

inline constexpr std::uint64_t cap_contiguous_queues = 1u << 16;  ///< CQR: no other ones
inline constexpr std::uint64_t cap_nvm_command_set = std::uint64_t{1} << 37;
inline constexpr std::uint32_t version_1_4 = 0x00010400;  ///< VS: major 31:16, minor 15:8
inline constexpr std::uint32_t cc_enable = 1u << 0;
inline constexpr std::uint32_t cc_command_set_mask = 7u << 4;   ///< CSS: 0 the NVM command set
inline constexpr std::uint32_t cc_page_size_mask = 0xfu << 7;   ///< MPS: 0 pages of 4096 bytes
inline constexpr std::uint32_t cc_arbitration_mask = 7u << 11;  ///< AMS: 0 round robin
inline constexpr std::uint32_t cc_shutdown_mask = 3u << 14;     ///< SHN: 0 none
inline constexpr std::uint32_t cc_shutdown_normal = 1u << 14;
inline constexpr std::uint32_t cc_entry_sizes_mask = 0xffu << 16;
inline constexpr std::uint32_t cc_entry_sizes = 6u << 16 | 4u << 20;  ///< 64 and 16 bytes
inline constexpr std::uint32_t csts_ready = 1u << 0;
inline constexpr std::uint32_t csts_fatal = 1u << 1;
inline constexpr std::uint32_t csts_shutdown_mask = 3u << 2;
inline constexpr std::uint32_t csts_shutdown_complete = 2u << 2;

/// CAP of a controller with the NVM command set, with queues of up to `entries` (2 to 65,536), that
/// is ready within `timeout_ms` (a multiple of 500).
GNSTOR_HD constexpr std::uint64_t make_capabilities(std::uint32_t entries,
                                                    std::uint32_t timeout_ms) {
  return std::uint64_t{entries - 1} | cap_contiguous_queues |
         std::uint64_t{timeout_ms / 500 & 0xff} << 24 | cap_nvm_command_set;
}

/// CAP.MQES: entries of a queue at most, from 1 on.
GNSTOR_HD constexpr std::uint32_t max_queue_entries(std::uint64_t cap) {
  return static_cast<std::uint32_t>(cap & 0xffff) + 1;
}
/// CAP.TO in milliseconds: how long a controller may take to become ready.
GNSTOR_HD constexpr std::uint32_t ready_timeout_ms(std::uint64_t cap) {
  return static_cast<std::uint32_t>(cap >> 24 & 0xff) * 500;
}
/// CAP.DSTRD in bytes: from one doorbell register to the next.
GNSTOR_HD constexpr std::uint32_t doorbell_stride_bytes(std::uint64_t cap) {
  return 4u << (cap >> 32 & 0xf);
}
/// The same field for a stride of `bytes`, a power of two from 4 on.
GNSTOR_HD constexpr std::uint64_t with_doorbell_stride(std::uint64_t cap, std::uint32_t bytes) {
  std::uint64_t shift = 0;
  for (std::uint32_t b = bytes; b > 4; b /= 2) ++shift;
  return (cap & ~(std::uint64_t{0xf} << 32)) | shift << 32;
}
/// CAP.MPSMIN in bytes: the unit of MDTS.
GNSTOR_HD constexpr std::uint32_t min_page_bytes(std::uint64_t cap) {
  return 4096u << (cap >> 48 & 0xf);
}
/// True if CC asks for what every controller has: entries of 64 and 16 bytes, pages of 4096 bytes,
/// round robin and the NVM command set.
GNSTOR_HD constexpr bool is_basic_configuration(std::uint32_t cc) {
  return (cc & cc_entry_sizes_mask) == cc_entry_sizes &&
         (cc & (cc_page_size_mask | cc_arbitration_mask | cc_command_set_mask)) == 0;
}
/// CAP.CSS: the command set to enable in CC bits 6:4: 0 the NVM one, 6 all that there are.
GNSTOR_HD constexpr std::uint32_t command_set_selection(std::uint64_t cap) {
  return (cap >> 43 & 1) != 0 && (cap >> 37 & 1) == 0 ? 6u << 4 : 0;
}

static_assert(make_capabilities(128, 7500) == 0x0000'0020'0f01'007f);
static_assert(doorbell_stride_bytes(with_doorbell_stride(make_capabilities(64, 500), 128)) == 128);
static_assert(doorbell_stride_bytes(make_capabilities(64, 500)) == 4);
static_assert(max_queue_entries(0x7f) == 128 && ready_timeout_ms(0x0f000000) == 7500);

}  // namespace gnstor::wire::nvme
