#pragma once
/// Fields of a controller's properties CAP, CC and CSTS. NVMe Base 2.3, 3.1.4.

#include <gnstor/core/config.hpp>

namespace gnstor::wire::nvme {

inline constexpr std::uint32_t cc_enable = 1u << 0;
inline constexpr std::uint32_t cc_shutdown_normal = 1u << 14;
inline constexpr std::uint32_t cc_entry_sizes = 6u << 16 | 4u << 20;  ///< 64 and 16 bytes
inline constexpr std::uint32_t csts_ready = 1u << 0;
inline constexpr std::uint32_t csts_fatal = 1u << 1;

/// CAP.MQES: entries of a queue at most, from 1 on.
GNSTOR_HD constexpr std::uint32_t max_queue_entries(std::uint64_t cap) {
  return static_cast<std::uint32_t>(cap & 0xffff) + 1;
}
/// CAP.TO in milliseconds: how long a controller may take to become ready.
GNSTOR_HD constexpr std::uint32_t ready_timeout_ms(std::uint64_t cap) {
  return static_cast<std::uint32_t>(cap >> 24 & 0xff) * 500;
}
/// CAP.MPSMIN in bytes: the unit of MDTS.
GNSTOR_HD constexpr std::uint32_t min_page_bytes(std::uint64_t cap) {
  return 4096u << (cap >> 48 & 0xf);
}
/// CAP.CSS: the command set to enable in CC bits 6:4: 0 the NVM one, 6 all that there are.
GNSTOR_HD constexpr std::uint32_t command_set_selection(std::uint64_t cap) {
  return (cap >> 43 & 1) != 0 && (cap >> 37 & 1) == 0 ? 6u << 4 : 0;
}

static_assert(max_queue_entries(0x7f) == 128 && ready_timeout_ms(0x0f000000) == 7500);

}  // namespace gnstor::wire::nvme
