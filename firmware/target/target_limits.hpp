#pragma once

#include <cstdint>

namespace gnstor::fw {

/// What an NVMe-oF target grants at most. A host learns all of it: from CAP, Identify Controller,
/// Set Features or the answer to its connection request.
struct target_limits {
  std::uint32_t queue_entries = 128;      ///< of one queue
  std::uint32_t io_queues = 16;           ///< of one controller
  std::uint32_t controllers = 64;         ///< of the whole target
  std::uint32_t in_capsule_bytes = 4096;  ///< data that may follow a command in its capsule
  std::uint32_t transfer_bytes = 131072;  ///< data of one command: MDTS, a power of two of 4 KiB
  std::uint32_t held_events = 4;          ///< Asynchronous Event Requests of one controller
};

/// Blocks that one Write Zeroes or one Dataset Management command may make zero: 256 MiB, so that
/// none keeps the array busy for long.
inline constexpr std::uint32_t most_zeroed_blocks = 65536;

/// Ranges of one Dataset Management command: as many as Identify can say.
inline constexpr std::uint32_t most_dataset_ranges = 255;

}  // namespace gnstor::fw
