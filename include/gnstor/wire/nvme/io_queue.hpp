#pragma once
/// Create and Delete of I/O queues in memory. NVMe Base 2.3, 5.2.1 to 5.2.4.

#include <gnstor/wire/nvme/arbitration.hpp>
#include <gnstor/wire/nvme/prp.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

namespace gnstor::wire::nvme {

inline constexpr std::uint32_t queue_contiguous = 1u << 0;             ///< CDW11 bit 0, PC
inline constexpr std::uint32_t completion_queue_interrupts = 1u << 1;  ///< CDW11 bit 1, IEN

/// Creates completion queue `queue` (1 on) of `entries` (2 to 65,536) at the DMA address `memory`,
/// contiguous and at a page; nothing interrupts, who waits looks.
GNSTOR_HD constexpr submission_entry make_create_completion_queue(std::uint16_t command_id,
                                                                  std::uint16_t queue,
                                                                  std::uint32_t entries,
                                                                  std::uint64_t memory) {
  submission_entry entry =
      make_command(static_cast<std::uint8_t>(admin_opcode::create_completion_queue), command_id, 0);
  set_prp(entry, {memory, 0});
  entry.cdw10 = queue | (entries - 1) << 16;
  entry.cdw11 = queue_contiguous;
  return entry;
}

/// Creates submission queue `queue` likewise; its commands are answered in completion queue
/// `completions`.
GNSTOR_HD constexpr submission_entry make_create_submission_queue(
    std::uint16_t command_id, std::uint16_t queue, std::uint32_t entries, std::uint64_t memory,
    std::uint16_t completions, queue_class priority = queue_class::urgent) {
  submission_entry entry =
      make_command(static_cast<std::uint8_t>(admin_opcode::create_submission_queue), command_id, 0);
  set_prp(entry, {memory, 0});
  entry.cdw10 = queue | (entries - 1) << 16;
  entry.cdw11 = queue_contiguous | (static_cast<std::uint32_t>(priority) & 3) << 1 |
                std::uint32_t{completions} << 16;
  return entry;
}

/// Deletes I/O queue `queue`: a submission queue before the completion queue of its answers.
/// @param opcode delete_submission_queue or delete_completion_queue
GNSTOR_HD constexpr submission_entry make_delete_queue(admin_opcode opcode,
                                                       std::uint16_t command_id,
                                                       std::uint16_t queue) {
  submission_entry entry = make_command(static_cast<std::uint8_t>(opcode), command_id, 0);
  set_prp(entry, {});
  entry.cdw10 = queue;
  return entry;
}

/// The queue that a Create or Delete is about: QID.
GNSTOR_HD constexpr std::uint16_t queue_of(const submission_entry& entry) {
  return static_cast<std::uint16_t>(entry.cdw10);
}
/// The entries that a Create asks for, 1 to 65,536.
GNSTOR_HD constexpr std::uint32_t queue_entries_of(const submission_entry& entry) {
  return (entry.cdw10 >> 16) + 1;
}
/// The completion queue that a Create of a submission queue names: CQID.
GNSTOR_HD constexpr std::uint16_t completions_of(const submission_entry& entry) {
  return static_cast<std::uint16_t>(entry.cdw11 >> 16);
}
GNSTOR_HD constexpr bool is_contiguous(const submission_entry& entry) {
  return (entry.cdw11 & queue_contiguous) != 0;
}

static_assert(make_create_submission_queue(0, 3, 256, 0x1000, 3).cdw10 == 0x00ff0003);
static_assert(make_create_submission_queue(0, 3, 256, 0x1000, 3).cdw11 == 0x00030001);
static_assert(make_create_completion_queue(0, 3, 256, 0x1000).cdw11 == 1);

}  // namespace gnstor::wire::nvme
