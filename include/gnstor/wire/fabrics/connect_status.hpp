#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::fabrics {

/// Status codes of type 1h (command specific) after a Fabrics command. NVMe Base 2.3, 4.2.3
/// and 6.3.
enum class connect_status : std::uint8_t {
  incompatible_format = 0x80,
  controller_busy = 0x81,
  invalid_parameters = 0x82,
  restart_discovery = 0x83,
  invalid_host = 0x84,
  invalid_queue_type = 0x85,
  discover_restart = 0x90,
  authentication_required = 0x91,
};

}  // namespace gnstor::wire::fabrics
