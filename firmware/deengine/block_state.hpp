#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::fw {

/// What the firmware knows of one erase block, beside the OOB entries of its pages.
struct block_state {
  /// Atomic: reads that still copy from the block; raised by the owner, lowered by anybody.
  std::uint32_t pins = 0;
  std::uint32_t owner = 0;  ///< atomic: shard that took the block, plus 1; 0 while it is free
  std::uint32_t live = 0;   ///< the owner's: pages allocated and neither stale nor abandoned
  std::uint32_t next = 0;   ///< the owner's: next block of a list
};

static_assert(sizeof(block_state) == 16 && std::is_trivially_copyable_v<block_state>);

}  // namespace gnstor::fw
