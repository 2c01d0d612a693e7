#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::fabrics {

/// Where a controller property lies. NVMe Base 2.3, 3.1.4.
enum class property_offset : std::uint32_t {
  capabilities = 0x00,     ///< CAP, 8 bytes
  version = 0x08,          ///< VS, 4 bytes
  configuration = 0x14,    ///< CC, 4 bytes
  status = 0x1c,           ///< CSTS, 4 bytes
  subsystem_reset = 0x20,  ///< NSSR, 4 bytes
};

}  // namespace gnstor::wire::fabrics
