#pragma once
/// Get LBA Status: which blocks of a range are allocated. NVM Command Set 1.1, "Get LBA Status
/// command".

#include <gnstor/wire/nvme/admin_opcode.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <cstddef>

namespace gnstor::wire::nvme {

/// Action type, CDW13 31:24: return descriptors of what is allocated.
inline constexpr std::uint32_t lba_status_allocated = 0x02;

/// `lba_status_list::completion`: why the list ends.
inline constexpr std::uint8_t lba_status_full = 1;   ///< as much as was to be transferred
inline constexpr std::uint8_t lba_status_whole = 2;  ///< all of the range

/// One run of allocated blocks.
struct lba_status_descriptor {
  std::uint64_t slba;
  std::uint32_t blocks;
  std::uint8_t reserved12;
  std::uint8_t status;
  std::uint16_t reserved14;
};

/// What the data begins with; descriptors follow.
struct lba_status_list {
  std::uint32_t descriptors;
  std::uint8_t completion;
  std::uint8_t reserved5[3];
};

static_assert(sizeof(lba_status_descriptor) == 16 && sizeof(lba_status_list) == 8);
static_assert(offsetof(lba_status_descriptor, blocks) == 8);
static_assert(offsetof(lba_status_descriptor, status) == 13);
static_assert(offsetof(lba_status_list, completion) == 4);

/// Asks for the allocated ones of `blocks` blocks from `slba` on, at most 65535.
/// @param bytes of the answer at most: a multiple of 4
GNSTOR_HD constexpr submission_entry make_get_lba_status(std::uint16_t command_id,
                                                         std::uint32_t nsid, std::uint64_t slba,
                                                         std::uint32_t blocks,
                                                         std::uint32_t bytes) {
  submission_entry entry =
      make_command(static_cast<std::uint8_t>(admin_opcode::get_lba_status), command_id, nsid);
  entry.cdw10 = static_cast<std::uint32_t>(slba);
  entry.cdw11 = static_cast<std::uint32_t>(slba >> 32);
  entry.cdw12 = bytes / 4 - 1;
  entry.cdw13 = lba_status_allocated << 24 | (blocks & 0xffff);
  return entry;
}
GNSTOR_HD constexpr bool is_get_lba_status(const submission_entry& entry) {
  return entry.opcode == static_cast<std::uint8_t>(admin_opcode::get_lba_status);
}
/// Bytes of the answer at most.
GNSTOR_HD constexpr std::uint64_t lba_status_bytes(const submission_entry& entry) {
  return (std::uint64_t{entry.cdw12} + 1) * 4;
}
GNSTOR_HD constexpr std::uint32_t lba_status_blocks(const submission_entry& entry) {
  return entry.cdw13 & 0xffff;
}

}  // namespace gnstor::wire::nvme
