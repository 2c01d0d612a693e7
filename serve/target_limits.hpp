#pragma once

#include <cstdint>

namespace gnstor::serve {

/// What an NVMe-oF target grants at most. A host learns all of it: from CAP, Identify Controller,
/// Set Features or the answer to its connection request.
struct target_limits {
  std::uint32_t queue_entries = 128;      ///< of one queue
  std::uint32_t io_queues = 16;           ///< of one controller
  std::uint32_t controllers = 64;         ///< of the whole target
  std::uint32_t host_controllers = 32;    ///< of one host: of its NQN, and of its address
  std::uint32_t open_controllers = 16;    ///< of the discovery subsystem
  std::uint32_t mute_controllers = 16;    ///< without keep-alive: who vanishes stays
  std::uint32_t in_capsule_bytes = 4096;  ///< data that may follow a command in its capsule
  std::uint32_t transfer_bytes = 131072;  ///< data of one command: MDTS, a power of two of 4 KiB
  std::uint32_t held_events = 4;          ///< Asynchronous Event Requests of one controller
  std::uint32_t end_ms = 2000;            ///< that an ASSOCIATION END waits
};

/// How long a discovery controller without keep-alive waits for a command. NVMe Base 2.3, 3.1.3.3,
/// "Discovery Controller".
inline constexpr std::uint32_t discovery_patience_ms = 120'000;

/// Blocks that one Write Zeroes or one Dataset Management command may make zero: 256 MiB, so that
/// none keeps the array busy for long.
inline constexpr std::uint32_t most_zeroed_blocks = 65536;

/// Ranges of one Dataset Management command: as many as Identify can say.
inline constexpr std::uint32_t most_dataset_ranges = 255;

}  // namespace gnstor::serve
