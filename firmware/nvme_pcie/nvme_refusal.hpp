#pragma once
/// How a controller refuses a command.

#include <gnstor/wire/nvme/status.hpp>

#include <cstdint>

namespace gnstor::fw {

/// The status of a command that will fail however often it is sent: Do Not Retry.
inline std::uint16_t refusal(wire::nvme::generic_status why) {
  return wire::nvme::make_status(why, true);
}
inline std::uint16_t refusal(wire::nvme::command_status why) {
  return wire::nvme::make_status(why, true);
}

}  // namespace gnstor::fw
