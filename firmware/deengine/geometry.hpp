#pragma once

#include <gnstor/core/config.hpp>
#include <gnstor/wire/afa/array_limits.hpp>

#include <type_traits>

namespace gnstor::fw {

inline constexpr std::uint32_t most_shards = 64;             ///< shards of one SSD on a GPU
inline constexpr std::uint32_t most_shards_cpu = 8;          ///< shards of one SSD on CPU threads
inline constexpr std::uint32_t most_pages_per_block = 1024;  ///< pages of one erase block
inline constexpr std::uint32_t fewest_pages_per_shard = 16000;  ///< 1,000 stripes of 16 blocks
inline constexpr std::uint32_t most_pages_per_shard = 3'500'000'000;  ///< slots have 32 bits
inline constexpr std::uint32_t fewest_blocks_per_shard = 8;  ///< two more than are set aside

/// Where an array of the metadata may begin that cannot begin at `at`.
GNSTOR_HD constexpr std::uint64_t next_array(std::uint64_t at) { return (at + 127) / 128 * 128; }

/// The shape of one SSD: what must be equal for a metadata block to be mounted again.
struct geometry {
  std::uint32_t pages = 0;             ///< 4 KiB flash pages, a multiple of `pages_per_block`
  std::uint32_t shards = 1;            ///< independent owners of the mapping
  std::uint32_t pages_per_block = 64;  ///< pages of one erase block
  std::uint32_t max_volumes = 256;     ///< volumes the permission table can hold

  GNSTOR_HD constexpr std::uint32_t blocks() const { return pages / pages_per_block; }

  /// Free blocks that commands leave to garbage collection: each shard needs one to move a block's
  /// pages to before that block is free.
  GNSTOR_HD constexpr std::uint32_t kept_blocks() const { return shards; }
  /// Garbage is collected while no more blocks than these are free.
  GNSTOR_HD constexpr std::uint32_t few_blocks() const { return 2 * shards; }
  /// Over-provisioning: blocks whose worth of pages volumes cannot hold. A thirty-second of all, or
  /// what a shard may need: a block open to commands, one to moved pages, and more than
  /// `few_blocks`, so that collecting comes to an end.
  GNSTOR_HD constexpr std::uint32_t spare_blocks() const {
    const std::uint32_t least = 4 * shards + 2;
    return blocks() / 32 > least ? blocks() / 32 : least;
  }
  /// Pages that volumes can hold.
  GNSTOR_HD constexpr std::uint32_t usable_pages() const {
    return (blocks() - spare_blocks()) * pages_per_block;
  }
  /// Pages that volumes can hold however unevenly the shards fill: each may keep some to itself.
  GNSTOR_HD constexpr std::uint32_t capacity_pages() const {
    return shards == 1 ? usable_pages() : usable_pages() - 2 * credit_step() * shards;
  }
  /// Pages of one shard that its mapping has room for. All of a stripe falls to one shard, at
  /// random: six standard deviations above the mean of the longest ones.
  GNSTOR_HD constexpr std::uint32_t most_mapped() const {
    const std::uint32_t mean = pages / shards;
    std::uint64_t deviation = 0;  // a square root
    for (std::uint64_t bit = 1u << 20; bit != 0; bit >>= 1) {
      const std::uint64_t next = deviation | bit;
      if (next * next <= std::uint64_t{wire::afa::max_stripe_blocks} * mean) deviation = next;
    }
    const std::uint64_t most = mean + 6 * (deviation + 1);
    return most < pages ? static_cast<std::uint32_t>(most) : pages;
  }
  /// Pages that a shard takes from the SSD's credit at once: what others cannot use is little.
  GNSTOR_HD constexpr std::uint32_t credit_step() const {
    const std::uint32_t fit = usable_pages() / shards / 256;
    return fit < 1 ? 1 : fit < 64 ? fit : 64;
  }

  /// Cells of a shard's `trim_journal`: so many that each deallocation looks at few blocks.
  GNSTOR_HD constexpr std::uint32_t trim_cells() const {
    return blocks() / 64 < 64 ? 64 : blocks() / 64;
  }

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
      return "each shard needs at least 8 erase blocks: more pages or fewer shards";
    }
    if (most_mapped() > most_pages_per_shard) {
      return "one shard maps at most 13 TiB: more shards";
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
  /// The default size of an erase block: 64 pages, or 32 where a small SSD would set aside much of
  /// itself. A command of more blocks than that might wait for ever for free blocks on a full SSD.
  GNSTOR_HD static constexpr std::uint32_t default_block(std::uint32_t pages) {
    return pages / 64 < 256 ? 32 : 64;
  }
};

static_assert(std::is_trivially_copyable_v<geometry> && sizeof(geometry) == 16);
static_assert(geometry{.pages = 4096, .shards = 4}.fault() == nullptr);
static_assert(geometry{.pages = 64, .shards = 1}.fault() != nullptr);
static_assert(geometry{.pages = 1 << 20, .shards = 8}.usable_pages() == (1 << 20) / 32 * 31);
static_assert(geometry{.pages = 1 << 26, .shards = 64}.most_mapped() == (1 << 20) + 6 * 16385);
static_assert(geometry::default_block(4096) == 32 && geometry::default_block(16384) == 64);

}  // namespace gnstor::fw
