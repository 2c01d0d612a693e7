#pragma once

#include <gnstor/wire/nvme/transfer_direction.hpp>

namespace gnstor::wire::afa {

/// GNStor's commands on the admin queue, in NVMe's vendor-specific range C0h to FFh. GNStor, 4.1.
enum class admin_opcode : std::uint8_t {
  volume_add = 0xc1,      ///< data: one `volume_record`
  volume_chmod = 0xc5,    ///< data: one `volume_chmod`
  volume_delete = 0xc8,   ///< no data
  array_update = 0xc9,    ///< data: one `array_membership`
  volume_list = 0xca,     ///< answers one `volume_list`
  array_describe = 0xce,  ///< answers one `array_description`
  ssd_describe = 0xda,    ///< answers one `ssd_description`
};

/// Which way the command's data moves, by its opcode.
GNSTOR_HD constexpr nvme::transfer_direction direction_of(admin_opcode opcode) {
  return nvme::direction_of(static_cast<std::uint8_t>(opcode));
}

static_assert(direction_of(admin_opcode::volume_add) ==
              nvme::transfer_direction::host_to_controller);
static_assert(direction_of(admin_opcode::volume_chmod) ==
              nvme::transfer_direction::host_to_controller);
static_assert(direction_of(admin_opcode::volume_delete) == nvme::transfer_direction::none);
static_assert(direction_of(admin_opcode::array_update) ==
              nvme::transfer_direction::host_to_controller);
static_assert(direction_of(admin_opcode::volume_list) ==
              nvme::transfer_direction::controller_to_host);
static_assert(direction_of(admin_opcode::array_describe) ==
              nvme::transfer_direction::controller_to_host);
static_assert(direction_of(admin_opcode::ssd_describe) ==
              nvme::transfer_direction::controller_to_host);

}  // namespace gnstor::wire::afa
