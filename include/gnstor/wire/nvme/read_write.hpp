#pragma once
/// Builders and readers of the commands of an I/O queue.

#include <gnstor/wire/nvme/dataset_range.hpp>
#include <gnstor/wire/nvme/opcode.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

namespace gnstor::wire::nvme {

inline constexpr std::uint32_t max_command_blocks = 65536;  ///< NLB has 16 bits and is zero based
inline constexpr std::uint32_t max_dataset_ranges = 256;    ///< NR has 8 bits and is zero based

/// The fields that all commands share; `dptr` describes no data.
GNSTOR_HD constexpr submission_entry make_command(std::uint8_t opcode, std::uint16_t command_id,
                                                  std::uint32_t nsid) {
  submission_entry entry{};
  entry.opcode = opcode;
  entry.flags = flags_sgl;
  entry.command_id = command_id;
  entry.nsid = nsid;
  entry.dptr = make_empty_sgl();
  return entry;
}

/// CDW12 bit 25 of Write Zeroes, DEAC: the blocks may be deallocated. NVM Command Set 1.2, 3.3.8.
inline constexpr std::uint32_t write_zeroes_deallocate = 1u << 25;

/// CDW12 bit 30 of Read and Write, FUA: force unit access. NVM Command Set 1.2, 3.3.4 and 3.3.6.
inline constexpr std::uint32_t force_unit_access = 1u << 30;

/// A Read, Write, Write Zeroes or Compare of `blocks` (1 to `max_command_blocks`) blocks from
/// `slba` on.
///
/// NVM Command Set 1.2, 3.3.4 and 3.3.6: SLBA in CDW10 and CDW11, zero-based NLB in CDW12 bits
/// 15:0.
GNSTOR_HD constexpr submission_entry make_read_write(nvm_opcode opcode, std::uint16_t command_id,
                                                     std::uint32_t nsid, std::uint64_t slba,
                                                     std::uint32_t blocks, keyed_sgl data) {
  submission_entry entry = make_command(static_cast<std::uint8_t>(opcode), command_id, nsid);
  entry.dptr = data;
  entry.cdw10 = static_cast<std::uint32_t>(slba);
  entry.cdw11 = static_cast<std::uint32_t>(slba >> 32);
  entry.cdw12 = (blocks - 1) & 0xffff;
  return entry;
}

/// The first block of a Read or Write.
GNSTOR_HD constexpr std::uint64_t slba_of(const submission_entry& entry) {
  return std::uint64_t{entry.cdw11} << 32 | entry.cdw10;
}

/// The number of blocks of a Read or Write, from 1 on.
GNSTOR_HD constexpr std::uint32_t blocks_of(const submission_entry& entry) {
  return (entry.cdw12 & 0xffff) + 1;
}

/// A Flush of the whole namespace. NVMe Base 2.3, 7.2.
GNSTOR_HD constexpr submission_entry make_flush(std::uint16_t command_id, std::uint32_t nsid) {
  return make_command(static_cast<std::uint8_t>(nvm_opcode::flush), command_id, nsid);
}

/// A Dataset Management command that deallocates `ranges` (1 to 256) ranges, listed in `data` as
/// `dataset_range`s. NVM Command Set 1.2, 3.3.3: zero-based NR in CDW10, attribute AD in CDW11
/// bit 2.
GNSTOR_HD constexpr submission_entry make_deallocate(std::uint16_t command_id, std::uint32_t nsid,
                                                     std::uint32_t ranges, keyed_sgl data) {
  submission_entry entry =
      make_command(static_cast<std::uint8_t>(nvm_opcode::dataset_management), command_id, nsid);
  entry.dptr = data;
  entry.cdw10 = (ranges - 1) & 0xff;
  entry.cdw11 = 1u << 2;
  return entry;
}

/// The number of ranges of a Dataset Management command, from 1 on.
GNSTOR_HD constexpr std::uint32_t ranges_of(const submission_entry& entry) {
  return (entry.cdw10 & 0xff) + 1;
}

/// True if a Dataset Management command asks to deallocate.
GNSTOR_HD constexpr bool deallocates(const submission_entry& entry) {
  return (entry.cdw11 & 1u << 2) != 0;
}

static_assert(slba_of(make_read_write(nvm_opcode::read, 1, 1, 0x123456789abcdef0, 16, {})) ==
              0x123456789abcdef0);
static_assert(blocks_of(make_read_write(nvm_opcode::read, 1, 1, 0, 65536, {})) == 65536);
static_assert(make_read_write(nvm_opcode::read, 1, 1, 0, 16, {}).cdw12 == 15);

}  // namespace gnstor::wire::nvme
