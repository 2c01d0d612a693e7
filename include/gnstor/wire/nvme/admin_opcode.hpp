#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::nvme {

/// Commands of the admin queue that gnstor sends or its target answers. NVMe Base 2.3, 5.1.
///
/// GNStor's own, in the vendor-specific range C0h to FFh, are `afa::admin_opcode`.
enum class admin_opcode : std::uint8_t {
  delete_submission_queue = 0x00,
  create_submission_queue = 0x01,
  get_log_page = 0x02,
  delete_completion_queue = 0x04,
  create_completion_queue = 0x05,
  identify = 0x06,
  abort = 0x08,
  set_features = 0x09,
  get_features = 0x0a,
  asynchronous_event_request = 0x0c,
  keep_alive = 0x18,
  format_nvm = 0x80,
  sanitize = 0x84,
  get_lba_status = 0x86,
};

inline constexpr std::uint8_t first_vendor_admin_opcode = 0xc0;

/// DW0 bit 0 of the answer to an Abort: the command was not aborted. NVMe Base 2.3, 5.1.1.
inline constexpr std::uint32_t abort_missed = 1u << 0;

}  // namespace gnstor::wire::nvme
