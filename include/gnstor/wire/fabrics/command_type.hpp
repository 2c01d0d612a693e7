#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::fabrics {

/// Which Fabrics command an entry with opcode 7Fh is: its byte 4. NVMe Base 2.3, 6.
enum class command_type : std::uint8_t {
  property_set = 0x00,
  connect = 0x01,
  property_get = 0x04,
  authentication_send = 0x05,
  authentication_receive = 0x06,
  disconnect = 0x08,
};

}  // namespace gnstor::wire::fabrics
