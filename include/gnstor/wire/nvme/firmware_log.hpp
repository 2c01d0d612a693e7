#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::nvme {

/// Log page 03h: which firmware a controller runs. NVMe Base 2.3, 5.1.12.1, "Firmware Slot
/// Information".
struct firmware_log {
  std::uint8_t active;  ///< bits 2:0: the slot that runs, from 1 on
  std::uint8_t reserved1[7];
  char revision[7][8];  ///< of each slot: ASCII, padded with blanks; zeroes: the slot is empty
  std::uint8_t reserved64[448];
};

static_assert(sizeof(firmware_log) == 512 && std::is_trivial_v<firmware_log>);
static_assert(offsetof(firmware_log, active) == 0);
static_assert(offsetof(firmware_log, revision) == 8);

}  // namespace gnstor::wire::nvme
