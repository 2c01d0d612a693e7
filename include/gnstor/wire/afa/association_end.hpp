#pragma once

#include <gnstor/wire/nvme/read_write.hpp>
#include <gnstor/wire/nvme/transfer_direction.hpp>

namespace gnstor::wire::afa {

/// ASSOCIATION END, a command on the admin queue that the target itself answers: ends another
/// association of the same host, and is answered when nothing of it is under way any more. What the
/// host sends again then cannot be overtaken by what it sent before.
///
/// A controller id alone may be another association's by now, or a restarted target's: with it goes
/// the number for life that Identify Controller said (`identify_controller::association`). One that
/// the target does not know has nothing under way.
struct association_end {
  static constexpr std::uint8_t opcode = 0xcc;

  std::uint16_t controller = 0;   ///< CDW10 bits 15:0: CNTLID
  std::uint64_t association = 0;  ///< CDW12 and 13

  GNSTOR_HD constexpr nvme::submission_entry pack() const {
    nvme::submission_entry entry = nvme::make_command(opcode, 0, 0);
    entry.cdw10 = controller;
    entry.cdw12 = static_cast<std::uint32_t>(association);
    entry.cdw13 = static_cast<std::uint32_t>(association >> 32);
    return entry;
  }
  GNSTOR_HD static constexpr association_end unpack(const nvme::submission_entry& entry) {
    return {static_cast<std::uint16_t>(entry.cdw10),
            entry.cdw12 | std::uint64_t{entry.cdw13} << 32};
  }
};

static_assert(nvme::direction_of(association_end::opcode) == nvme::transfer_direction::none);

}  // namespace gnstor::wire::afa
