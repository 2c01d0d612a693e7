#pragma once

#include <gnstor/core/units.hpp>
#include <gnstor/wire/afa/admin_opcode.hpp>
#include <gnstor/wire/afa/stand_ins.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

namespace gnstor::wire::afa {

/// One of GNStor's admin commands, before it is put into and after it is taken out of its 64 bytes.
struct admin_command {
  admin_opcode opcode = admin_opcode::volume_list;
  std::uint16_t command_id = 0;
  std::uint32_t nsid = 0;   ///< the SSD, see `nsid_of`
  std::uint32_t epoch = 0;  ///< CDW2: the array epoch the sender knows
  volume_id volume{};       ///< CDW10 bits 15:0; in a LIST the first VID to list
  nvme::keyed_sgl payload = nvme::make_empty_sgl();  ///< where the data lies
  std::uint64_t term = 0;         ///< CDW14 and 15: of the manager that orders this; 0: it has none
  bool takes_over = false;        ///< CDW11 bit 0, with a term: also while another manager is there
  std::uint64_t hash_factor = 0;  ///< CDW12 and 13, in a DELETE: of the volume that is meant; 0:
                                  ///< whichever has this VID
  stand_ins others{};             ///< CDW12, in an ARRAY UPDATE: who stands in from now on

  /// The command as a submission queue entry.
  GNSTOR_HD constexpr nvme::submission_entry pack() const {
    nvme::submission_entry entry{};
    entry.opcode = static_cast<std::uint8_t>(opcode);
    entry.flags = nvme::flags_sgl;
    entry.command_id = command_id;
    entry.nsid = nsid;
    entry.cdw2 = epoch;
    entry.dptr = payload;
    entry.cdw10 = volume.value;
    entry.cdw11 = takes_over ? 1 : 0;
    entry.cdw12 = static_cast<std::uint32_t>(hash_factor) | others.bits;
    entry.cdw13 = static_cast<std::uint32_t>(hash_factor >> 32);
    entry.cdw14 = static_cast<std::uint32_t>(term);
    entry.cdw15 = static_cast<std::uint32_t>(term >> 32);
    return entry;
  }
  /// The fields of an entry whose opcode is one of `admin_opcode`.
  GNSTOR_HD static constexpr admin_command unpack(const nvme::submission_entry& entry) {
    admin_command command;
    command.opcode = static_cast<admin_opcode>(entry.opcode);
    command.command_id = entry.command_id;
    command.nsid = entry.nsid;
    command.epoch = entry.cdw2;
    command.volume = volume_id(static_cast<std::uint16_t>(entry.cdw10));
    command.takes_over = (entry.cdw11 & 1) != 0;
    command.hash_factor = entry.cdw12 | std::uint64_t{entry.cdw13} << 32;
    if (command.opcode == admin_opcode::array_update) command.others.bits = entry.cdw12;
    command.term = entry.cdw14 | std::uint64_t{entry.cdw15} << 32;
    command.payload = entry.dptr;
    return command;
  }
};

}  // namespace gnstor::wire::afa
