#pragma once

#include <deengine/admission.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

#include <type_traits>

namespace gnstor::fw {

/// Largest transfer of one command, in blocks: 128 KiB (the MDTS of the emulated controllers).
inline constexpr std::uint32_t max_transfer_blocks = 32;
/// The same where CPU threads run the node and are asked for more: `node_shape::transfer_blocks`.
inline constexpr std::uint32_t most_transfer_blocks = 256;

/// Where a command stands on its way through the array.
enum class command_stage : std::uint32_t {
  lookup,   ///< in a shard's inbox, new
  copy,     ///< its pages are with the copy workers
  commit,   ///< a write whose pages are in place, back in the shard's inbox
  done,     ///< in its queue's done ring
  refused,  ///< its key does not open its data: it goes nowhere, and the queue pair breaks
  lost,     ///< swallowed by a silent SSD: it comes back when that is dead, or with a reset of the
            ///< queue pair
};

/// What the queue engine decides of a command: in registers until it is handed on.
struct command_head {
  wire::nvme::submission_entry entry;
  admission where;  ///< the firmware's answer to an I/O: shard and blocks
  std::uint32_t queue = 0;
  std::uint32_t ssd = 0;
  command_stage stage = command_stage::lookup;
  std::uint32_t remaining = 0;  ///< pages still being copied, and 2^16 for each that was damaged;
                                ///< the last worker hands the command on. Of a lost one: the next
  std::uint32_t result = 0;     ///< dword 0 of the response
  std::uint16_t status = 0;     ///< NVMe status field
  client_id client{};           ///< of the association, or its host's
  std::uint32_t admin = 0;      ///< it came by the admin queue
  std::uint32_t waits = 0;      ///< since when a write has waited for pages; 0 while it does not
  std::uint64_t media = 0;      ///< of an I/O: where the SSD's pages begin
};

/// One command in flight inside the array node. Exactly one engine owns it at a time; rings hand it
/// over.
struct alignas(128) io_command : command_head {
  std::uint32_t page[max_transfer_blocks];  ///< physical page of each block: `node::pages`
};

static_assert(sizeof(command_head) == 128);
static_assert(std::is_trivially_copyable_v<io_command> && sizeof(io_command) == 256);

}  // namespace gnstor::fw
