#pragma once

#include <gnstor/wire/afa/admin_opcode.hpp>
#include <gnstor/wire/nvme/admin_opcode.hpp>

namespace gnstor::wire::afa {

/// True of an admin command that changes nothing: done twice, late or not at all, it is the same.
GNSTOR_HD constexpr bool only_asks(std::uint8_t opcode) {
  return opcode == static_cast<std::uint8_t>(admin_opcode::array_describe) ||
         opcode == static_cast<std::uint8_t>(admin_opcode::ssd_describe) ||
         opcode == static_cast<std::uint8_t>(admin_opcode::volume_list) ||
         opcode == static_cast<std::uint8_t>(nvme::admin_opcode::get_lba_status);
}

}  // namespace gnstor::wire::afa
