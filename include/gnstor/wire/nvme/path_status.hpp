#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::nvme {

/// Status codes of type 3h: the way to the medium failed. NVMe Base 2.3, 4.2.3, "Path Related
/// Status".
enum class path_status : std::uint8_t {
  internal_path_error = 0x00,
  controller_pathing_error = 0x60,
  host_pathing_error = 0x70,
  command_aborted_by_host = 0x71,
};

}  // namespace gnstor::wire::nvme
