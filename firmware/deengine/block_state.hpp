#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::fw {

/// What the firmware knows of one erase block, beside the OOB entries of its pages.
struct alignas(32) block_state {
  static constexpr std::uint32_t none = ~0u;         ///< no block
  static constexpr std::uint16_t unranked = 0xffff;  ///< in no ranking

  /// Atomic: reads that still copy from the block; raised by the owner, lowered by anybody.
  std::uint32_t pins = 0;
  std::uint32_t owner = 0;  ///< atomic: shard that took the block, plus 1; 0 while it is free
  // The owner's:
  std::uint32_t live = 0;         ///< pages allocated and neither stale nor abandoned
  std::uint16_t rank = unranked;  ///< live pages when it was entered in a `block_ranking`
  std::uint8_t unrecorded = 0;    ///< pages have ended since its `live_record` was written
  std::uint8_t image = 0;         ///< of its `live_record`, that counts or may be written
  std::uint32_t next = none;      ///< block of the same list
  std::uint32_t previous = none;  ///< likewise, in a ranking
  std::uint32_t changed = none;   ///< next of those whose live pages have changed since, or itself
  std::uint32_t erases = 0;       ///< atomic: how worn it is; `erasing` beside that meanwhile

  static constexpr std::uint32_t erasing = 0x8000'0000;  ///< of `erases`: its pages go just now
};

static_assert(sizeof(block_state) == 32 && std::is_trivially_copyable_v<block_state>);

}  // namespace gnstor::fw
