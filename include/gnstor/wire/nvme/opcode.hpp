#pragma once
/// NVMe command opcodes.

#include <gnstor/wire/nvme/admin_opcode.hpp>
#include <gnstor/wire/nvme/nvm_opcode.hpp>
#include <gnstor/wire/nvme/transfer_direction.hpp>

namespace gnstor::wire::nvme {

/// The opcode of every Fabrics command, on any queue; byte 4 says which one. NVMe Base 2.3, 6.
inline constexpr std::uint8_t fabrics_opcode = 0x7f;

static_assert(direction_of(static_cast<std::uint8_t>(nvm_opcode::write)) ==
              transfer_direction::host_to_controller);
static_assert(direction_of(static_cast<std::uint8_t>(nvm_opcode::read)) ==
              transfer_direction::controller_to_host);

}  // namespace gnstor::wire::nvme
