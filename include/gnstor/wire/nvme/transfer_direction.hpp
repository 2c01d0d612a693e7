#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::nvme {

/// Which way a command's data moves: bits 1:0 of every opcode. NVMe Base 2.3, 4.1, "Opcode".
///
/// A target that does not know a vendor's command still moves its data by these bits.
enum class transfer_direction : std::uint8_t {
  none = 0,
  host_to_controller = 1,
  controller_to_host = 2,
  both = 3,
};

/// The direction an opcode stands for.
GNSTOR_HD constexpr transfer_direction direction_of(std::uint8_t opcode) {
  return static_cast<transfer_direction>(opcode & 3);
}

}  // namespace gnstor::wire::nvme
