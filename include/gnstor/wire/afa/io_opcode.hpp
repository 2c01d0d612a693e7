#pragma once

#include <gnstor/wire/nvme/transfer_direction.hpp>

namespace gnstor::wire::afa {

/// GNStor's commands on I/O queues, in NVMe's vendor-specific range 80h to FFh.
enum class io_opcode : std::uint8_t {
  /// As Write, for blocks of which what this SSD has is damaged, and, while it is being filled, for
  /// those that it does not have; others stay as they are. So who gives an SSD what it lacks never
  /// undoes a client's write.
  fill = 0x81,
  /// Answers the `dirty_regions` of the volume in the SLBA, whose blocks do not count: of every
  /// write that was committed before, and of none that is refused since. It needs the right to
  /// fill.
  dirty_regions = 0x82,
  /// Takes blocks from an SSD that is absent or being filled: it lacks them from now on, so that
  /// Fill gives them to it, and they count as dirty. Moves no data, and may be as long as a stripe.
  /// It needs the right to fill, and an SSD in sync refuses it.
  forget = 0x84,
};

/// CDW13 bit 0 of Fill: the blocks read as errors from now on, as nobody has what they held. Its
/// data does not count.
inline constexpr std::uint32_t fill_unreadable = 1;

/// CDW13 bit 0 of Dirty Regions: answers the regions that were marked since the last answer to a
/// command with this bit, and begins anew; no mark is wiped by that. Every write that marked one of
/// them has been committed by then.
inline constexpr std::uint32_t dirty_regions_since_taken = 1;

/// Which way the command's data moves, by its opcode.
GNSTOR_HD constexpr nvme::transfer_direction direction_of(io_opcode opcode) {
  return nvme::direction_of(static_cast<std::uint8_t>(opcode));
}

static_assert(direction_of(io_opcode::fill) == nvme::transfer_direction::host_to_controller);
static_assert(direction_of(io_opcode::dirty_regions) ==
              nvme::transfer_direction::controller_to_host);
static_assert(direction_of(io_opcode::forget) == nvme::transfer_direction::none);

}  // namespace gnstor::wire::afa
