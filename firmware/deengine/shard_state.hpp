#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::fw {

/// The words that one shard's owner keeps between commands. Nobody else reads or writes them.
struct alignas(64) shard_state {
  static constexpr std::uint32_t none = ~0u;  ///< no block

  std::uint64_t sequence = 1;  ///< of the next commit
  std::uint64_t grace = 0;     ///< period after which no reader can find the `retiring` blocks
  std::uint32_t open = none;   ///< block that takes the next pages
  std::uint32_t cursor = 0;    ///< next page within it
  // Closed blocks without live pages, in lists:
  std::uint32_t condemned = none;  ///< a look from before may still find their pages
  std::uint32_t retiring = none;   ///< so until `grace` is over
  std::uint32_t retired = none;    ///< no look can; readers still pin them
  std::uint32_t mapped = 0;        ///< entries of the shard's mapping table
  std::uint32_t swept = 0;         ///< volume deletions whose pages this shard has dropped
  std::uint32_t sweep_goal = 0;    ///< deletions that the running sweep covers
  std::uint32_t sweep_at = 0;      ///< next block the running sweep looks at; 0 when none runs
};

static_assert(sizeof(shard_state) == 64 && std::is_trivially_copyable_v<shard_state>);

}  // namespace gnstor::fw
