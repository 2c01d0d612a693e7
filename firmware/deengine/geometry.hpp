#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::fw {

inline constexpr std::uint32_t most_shards = 64;             ///< shards of one SSD on a GPU
inline constexpr std::uint32_t most_shards_cpu = 8;          ///< shards of one SSD on CPU threads
inline constexpr std::uint32_t most_pages_per_block = 1024;  ///< pages of one erase block
inline constexpr std::uint32_t fewest_pages_per_shard = 16000;  ///< 1,000 stripes of 16 blocks
inline constexpr std::uint32_t fewest_blocks_per_shard = 2;     ///< one open, one to take

/// The shape of one SSD: what must be equal for a metadata block to be mounted again.
struct geometry {
  std::uint32_t pages = 0;             ///< 4 KiB flash pages, a multiple of `pages_per_block`
  std::uint32_t shards = 1;            ///< independent owners of the mapping
  std::uint32_t pages_per_block = 64;  ///< pages of one erase block
  std::uint32_t max_volumes = 256;     ///< volumes the permission table can hold

  GNSTOR_HD constexpr std::uint32_t blocks() const { return pages / pages_per_block; }

  GNSTOR_HD friend constexpr bool operator==(const geometry& a, const geometry& b) {
    return a.pages == b.pages && a.shards == b.shards && a.pages_per_block == b.pages_per_block &&
           a.max_volumes == b.max_volumes;
  }

  /// Why this geometry cannot be built, as a sentence that names the remedy; null when it can.
  constexpr const char* fault() const {
    if (pages_per_block == 0 || pages_per_block > most_pages_per_block) {
      return "pages_per_block must be 1 to 1024";
    }
    if (pages == 0 || pages % pages_per_block != 0) {
      return "pages must be a multiple of pages_per_block, and not 0";
    }
    if (shards == 0 || shards > most_shards) return "shards must be 1 to 64";
    if (blocks() / shards < fewest_blocks_per_shard) {
      return "each shard needs at least 2 erase blocks: more pages or fewer shards";
    }
    if (max_volumes == 0 || max_volumes > 65535) return "max_volumes must be 1 to 65535";
    return nullptr;
  }

  /// The default number of shards: `most` (8 on the CPU, 64 on a GPU), or fewer where a shard would
  /// hold under 1,000 stripes.
  GNSTOR_HD static constexpr std::uint32_t default_shards(std::uint32_t pages, std::uint32_t most) {
    const std::uint32_t fit = pages / fewest_pages_per_shard;
    return fit < 1 ? 1 : fit < most ? fit : most;
  }
};

static_assert(std::is_trivially_copyable_v<geometry> && sizeof(geometry) == 16);
static_assert(geometry{.pages = 4096, .shards = 4}.fault() == nullptr);
static_assert(geometry{.pages = 64, .shards = 1}.fault() != nullptr);

}  // namespace gnstor::fw
