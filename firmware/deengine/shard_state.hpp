#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::fw {

/// The words that one shard's owner keeps between commands. Nobody else writes them, or reads those
/// that are not atomic.
struct alignas(128) shard_state {
  static constexpr std::uint32_t none = ~0u;  ///< no block

  // What every write needs, within 32 bytes:
  std::uint64_t sequence = 1;   ///< of the next commit
  std::uint32_t open = none;    ///< block that takes the next pages
  std::uint32_t cursor = 0;     ///< next page within it
  std::uint32_t mapped = 0;     ///< entries of the shard's mapping table
  std::uint32_t credit = 0;     ///< pages it may map beyond those, taken from the SSD's
  std::uint32_t victim = none;  ///< block whose live pages are being moved
  std::uint32_t target = none;  ///< block that takes moved pages
  // Closed blocks without live pages, in lists:
  std::uint32_t condemned = none;  ///< a look from before may still find their pages
  std::uint32_t retiring = none;   ///< so until `quiescence` is over
  std::uint32_t retired = none;    ///< no look can; readers still pin them
  std::uint32_t swept = 0;         ///< atomic: volume deletions whose pages this shard has dropped
  std::uint64_t quiescence = 0;    ///< period after which no reader can find the `retiring` blocks
  std::uint32_t sweep_goal = 0;    ///< deletions that the running sweep covers
  std::uint32_t sweep_at = 0;      ///< next block the running sweep looks at; 0 when none runs
  // Garbage collection:
  std::uint32_t victim_at = 0;  ///< next page of the victim to look at
  std::uint32_t target_at = 0;  ///< next page of the target
  std::uint32_t take_at = 0;    ///< where the shard looks for its next free block
  std::uint32_t choices = 0;    ///< victims chosen so far
  std::uint32_t wear_at = 0;    ///< next block to be looked at for its wear
  std::uint32_t parked = none;  ///< last of the closed blocks that wait for writes, in a ring
  std::uint64_t moved = 0;      ///< pages moved since it was mounted
  // Deallocations:
  std::uint32_t trims = 0;      ///< entries of the shard's `trim_journal` so far
  std::uint32_t record_at = 0;  ///< next block whose `live_record` is looked at
  /// Stamp of the Flush without which the `retiring` blocks stay as they are: `flush_numbers`.
  std::uint64_t flush = 0;
};

static_assert(sizeof(shard_state) == 128 && std::is_trivially_copyable_v<shard_state>);

}  // namespace gnstor::fw
