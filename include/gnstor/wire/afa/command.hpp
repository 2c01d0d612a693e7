#pragma once
/// GNStor's fields in NVMe commands: the array epoch, the SSD, and its own admin commands.

#include <gnstor/core/units.hpp>
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/admin_opcode.hpp>
#include <gnstor/wire/afa/slba.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

namespace gnstor::wire::afa {

/// Puts the array epoch the sender knows into CDW2, where every I/O and volume command carries it.
GNSTOR_HD constexpr void set_epoch(nvme::submission_entry& entry, std::uint32_t epoch) {
  entry.cdw2 = epoch;
}

/// The array epoch a command was sent in.
GNSTOR_HD constexpr std::uint32_t epoch_of(const nvme::submission_entry& entry) {
  return entry.cdw2;
}

/// The namespace id that reaches an SSD behind the NIC: its index plus one, as NVMe has no
/// namespace 0.
GNSTOR_HD constexpr std::uint32_t nsid_of(ssd_index ssd) { return ssd.value + 1u; }

/// The SSD a namespace id reaches. Namespace 0 and those beyond the last SSD give an index no array
/// has.
GNSTOR_HD constexpr ssd_index ssd_of(std::uint32_t nsid) {
  return ssd_index(nsid == 0 || nsid > 0xffff ? std::uint16_t{0xffff}
                                              : static_cast<std::uint16_t>(nsid - 1));
}

/// The volume, client and block a Read, Write or Write Zeroes names.
GNSTOR_HD constexpr slba address_of(const nvme::submission_entry& entry) {
  return slba::unpack(nvme::slba_of(entry));
}

static_assert(nsid_of(ssd_index(0)) == 1 && ssd_of(1).value == 0 && ssd_of(0).value == 0xffff);

}  // namespace gnstor::wire::afa
