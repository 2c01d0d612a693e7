#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::nvme {

/// Status code type: whose table a status code is from. NVMe Base 2.3, 4.2.3.
enum class status_code_type : std::uint8_t {
  generic = 0,
  command_specific = 1,
  media = 2,
  path = 3,
  vendor_specific = 7,
};

}  // namespace gnstor::wire::nvme
