#pragma once

#include <gnstor/wire/nvme/read_write.hpp>
#include <gnstor/wire/nvme/transfer_direction.hpp>

namespace gnstor::wire::afa {

/// SSD DETACH, a command on the admin queue that the target's front end executes, for the array's
/// manager alone: I/O for an SSD is refused from now on, whatever the SSD does, or no longer. What
/// the SSD had not answered is answered then. GNStor, 4.3; docs/decisions/052.
struct ssd_detach {
  static constexpr std::uint8_t opcode = 0xd0;

  std::uint32_t nsid = 0;  ///< the SSD, see `nsid_of`
  bool detached = true;    ///< CDW10 bit 0
  std::uint64_t term = 0;  ///< CDW14 and 15: of the manager that orders this

  GNSTOR_HD constexpr nvme::submission_entry pack() const {
    nvme::submission_entry entry = nvme::make_command(opcode, 0, nsid);
    entry.cdw10 = detached ? 1 : 0;
    entry.cdw14 = static_cast<std::uint32_t>(term);
    entry.cdw15 = static_cast<std::uint32_t>(term >> 32);
    return entry;
  }
  GNSTOR_HD static constexpr ssd_detach unpack(const nvme::submission_entry& entry) {
    return {entry.nsid, (entry.cdw10 & 1) != 0, entry.cdw14 | std::uint64_t{entry.cdw15} << 32};
  }
};

static_assert(nvme::direction_of(ssd_detach::opcode) == nvme::transfer_direction::none);

}  // namespace gnstor::wire::afa
