#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::nvme {

/// Status codes of type 2h: the medium failed or refused. NVMe Base 2.3, 4.2.3, "Media and Data
/// Integrity".
enum class media_status : std::uint8_t {
  write_fault = 0x80,
  unrecovered_read_error = 0x81,
  guard_check_error = 0x82,
  application_tag_check_error = 0x83,
  reference_tag_check_error = 0x84,
  compare_failure = 0x85,
  access_denied = 0x86,
  unwritten_block = 0x87,
};

}  // namespace gnstor::wire::nvme
