#pragma once

#include <gnstor/core/assert.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/memory/bitmap_level.hpp>
#include <gnstor/memory/extent.hpp>
#include <gnstor/memory/levels.hpp>
#include <gnstor/simt/clock.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// Hands out parts of a pool to the threads of one or several machines, without locks (GNStor,
/// section 4.2).
///
/// A reference: trivially copyable, over a bitmap that the caller places, sized by `bytes_for` and
/// filled by `format`. A request takes a run of blocks of the level that fits it closest. Where no
/// such run is free, a block of the level above is split; where all parts of a block are free
/// again, `release` merges them.
///
/// Why no block is lost or granted twice: a block's bits are changed by its owner alone, except
/// free -> in use, which a CAS makes exclusive. A larger block is split by the one thread that
/// claimed it, and filled in after that; it is merged by the one thread whose CAS takes all its
/// parts at once, and freed after that. In between its parts are nobody's to see: a concurrent
/// request may get `would_block`, never a wrong block. Whoever frees the last part of a block sees
/// it complete, so that an idle pool is whole.
/// @tparam Scope the threads that share the allocator
/// @tparam Levels block sizes, `levels<...>`
template <thread_scope Scope, class Levels = default_levels>
class block_allocator {
  static constexpr unsigned top = Levels::top;
  static constexpr std::uint32_t word_blocks = Levels::template fan_out<top>();
  static constexpr std::uint32_t largest_run = 16;  // blocks of the top level
  static constexpr unsigned rounds = 4;             // searches before a request gives up

 public:
  static constexpr std::uint64_t smallest_block = Levels::template bytes<0>;
  static constexpr std::uint64_t largest_block = Levels::template bytes<top>;

  /// Bytes of bitmap that a pool of `pool_bytes` needs, aligned to 8.
  GNSTOR_HD static constexpr std::uint64_t bytes_for(std::uint64_t pool_bytes) {
    return std::uint64_t{first_word<0>(top_blocks_of(pool_bytes)) +
                         words<0>(top_blocks_of(pool_bytes))} *
           8;
  }

  /// Fills the bitmap of an empty pool: every block of the top level is free and whole.
  ///
  /// `memory` is host memory; the bitmap of a GPU's allocator is filled on the host and copied.
  /// Throws `verify_error` unless `pool_bytes` is a multiple of the largest block, between one and
  /// 2^32 smallest blocks.
  static void format(void* memory, std::uint64_t pool_bytes) {
    GNSTOR_VERIFY(pool_bytes % largest_block == 0 && pool_bytes != 0);
    GNSTOR_VERIFY(pool_bytes / smallest_block <= detail::no_block);
    auto* word = static_cast<std::uint64_t*>(memory);
    const std::uint32_t blocks = top_blocks_of(pool_bytes);
    for (std::uint64_t k = 0; k < bytes_for(pool_bytes) / 8; ++k) word[k] = 0;
    for (std::uint32_t w = 0; w < words<top>(blocks); ++w) {
      const std::uint32_t rest = blocks - w * word_blocks;
      word[w] = detail::low_bits(rest < word_blocks ? rest : word_blocks);
    }
  }

  /// Refers to a formatted bitmap of a pool of `pool_bytes`.
  GNSTOR_HD block_allocator(void* memory, std::uint64_t pool_bytes)
      : words_(static_cast<std::uint64_t*>(memory)), top_blocks_(top_blocks_of(pool_bytes)) {}

  GNSTOR_HD std::uint64_t pool_bytes() const { return top_blocks_ * largest_block; }
  /// The largest request: a run of 16 blocks of the top level, or the pool.
  GNSTOR_HD std::uint64_t max_bytes() const {
    return (top_blocks_ < largest_run ? top_blocks_ : largest_run) * largest_block;
  }

  /// Takes a contiguous part of at least `bytes` bytes, aligned to the block size that fits it
  /// closest.
  /// @par Callers any lane, alone; no convergence needed
  /// @par Result the extent in the calling lane; its size is a multiple of its block size
  /// @par Order acquires, at `Scope`, what the part's earlier owners did before they released it
  /// @par Bound 4 searches of the bitmap, at most 64 lost races a word
  /// @par Errors invalid_argument: 0 bytes or more than `max_bytes()`. would_block: no such run is
  /// free now, or other threads are in the middle of splitting or merging it. Nothing is taken in
  /// either case.
  GNSTOR_HD result<extent> allocate(std::uint64_t bytes) const {
    if (bytes == 0 || bytes > max_bytes())
      return status::make(status_code::invalid_argument, reporter::caller);
    return allocate_from<0>(bytes);
  }

  /// Gives back what `allocate` granted; `part.bytes` may also be the size that was asked for.
  /// @par Callers any lane, alone; no convergence needed
  /// @par Order releases, at `Scope`, the caller's use of the part to its next owners
  /// @par Bound no loop; at most two atomic operations a level
  /// @par Errors invalid_argument: the part is not in use, or is none that `allocate` could have
  /// granted; nothing is changed. A debug build asserts instead. A part that another thread owns by
  /// now cannot be told from one's own.
  GNSTOR_HD status release(extent part) const {
    const bool in_pool = part.bytes != 0 && part.bytes <= max_bytes() &&
                         part.offset < pool_bytes() && part.bytes <= pool_bytes() - part.offset;
    const bool released = in_pool && release_to<0>(part);
    GNSTOR_ASSERT(released);
    return released ? status{} : status::make(status_code::invalid_argument, reporter::caller);
  }

  /// Bytes that are free at some moment; exact when no other thread allocates or releases.
  GNSTOR_HD std::uint64_t free_bytes() const { return free_bytes_from<0>(); }

  /// True when the pool is whole: every part released and merged. Exact like `free_bytes`.
  GNSTOR_HD bool is_whole() const {
    std::uint64_t whole = 0;
    for (std::uint32_t w = 0; w < words<top>(top_blocks_); ++w) whole += free_in<top>(w);
    return whole == top_blocks_;
  }

 private:
  GNSTOR_HD static constexpr std::uint32_t top_blocks_of(std::uint64_t pool_bytes) {
    return static_cast<std::uint32_t>(pool_bytes / largest_block);
  }

  /// Words of a level: one for each block of the level above; at the top, one for 32 blocks.
  template <unsigned Level>
  GNSTOR_HD static constexpr std::uint32_t words(std::uint32_t top_blocks) {
    if constexpr (Level == top) {
      return (top_blocks + word_blocks - 1) / word_blocks;
    } else if constexpr (Level + 1 == top) {
      return top_blocks;
    } else {
      return words<Level + 1>(top_blocks) * Levels::template fan_out<Level + 1>();
    }
  }

  /// Where a level's words start: the top level comes first.
  template <unsigned Level>
  GNSTOR_HD static constexpr std::uint32_t first_word(std::uint32_t top_blocks) {
    if constexpr (Level == top) {
      return 0;
    } else {
      return first_word<Level + 1>(top_blocks) + words<Level + 1>(top_blocks);
    }
  }

  template <unsigned Level>
  GNSTOR_HD bitmap_level<Scope> level() const {
    return bitmap_level<Scope>(words_ + first_word<Level>(top_blocks_));
  }

  template <unsigned Level>
  GNSTOR_HD std::uint64_t free_in(std::uint32_t word) const {
    return static_cast<std::uint64_t>(
        cuda::std::popcount(detail::free_of(level<Level>().peek(word))));
  }

  template <unsigned Level>
  GNSTOR_HD std::uint64_t free_bytes_from() const {
    std::uint64_t blocks = 0;
    for (std::uint32_t w = 0; w < words<Level>(top_blocks_); ++w) blocks += free_in<Level>(w);
    const std::uint64_t bytes = blocks * Levels::template bytes<Level>;
    if constexpr (Level == top) {
      return bytes;
    } else {
      return bytes + free_bytes_from<Level + 1>();
    }
  }

  /// Allocates from the lowest level, at or above `Level`, where the request is smaller than one
  /// block of the next.
  template <unsigned Level>
  GNSTOR_HD result<extent> allocate_from(std::uint64_t bytes) const {
    const std::uint64_t count = Levels::template blocks_for<Level>(bytes);
    if constexpr (Level != top) {
      if (count >= Levels::template fan_out<Level>()) return allocate_from<Level + 1>(bytes);
    }
    for (unsigned round = 0; round < rounds; ++round) {
      if (round != 0) simt::pause();
      const std::uint32_t block = take<Level>(static_cast<std::uint32_t>(count), false);
      if (block == detail::no_block) continue;
      return extent{block * Levels::template bytes<Level>, count * Levels::template bytes<Level>};
    }
    return status::make(status_code::would_block, reporter::none);
  }

  /// Takes a run of `count` blocks of a level, from a split block or by splitting one; its first
  /// block or `no_block`.
  template <unsigned Level>
  GNSTOR_HD std::uint32_t take(std::uint32_t count, bool as_split) const {
    for (std::uint32_t w = 0; w < words<top>(top_blocks_); ++w) {
      const std::uint32_t block = take_below<top, Level>(w, count, as_split);
      if (block != detail::no_block) return block;
    }
    if constexpr (Level != top) {
      constexpr std::uint32_t fan_out = Levels::template fan_out<Level>();
      const std::uint32_t parent = take<Level + 1>(1, true);
      if (parent == detail::no_block) return detail::no_block;
      const std::uint32_t taken = detail::low_bits(count);
      const std::uint32_t rest = detail::low_bits(fan_out) & ~taken;
      const bool opened =
          level<Level>().open(parent, detail::level_word(rest, as_split ? taken : 0));
      GNSTOR_VERIFY(opened);
      return parent * fan_out;
    }
    return detail::no_block;
  }

  /// Takes a run of blocks of level `Level` within the blocks of one word of level `At`, walking
  /// down split blocks only.
  template <unsigned At, unsigned Level>
  GNSTOR_HD std::uint32_t take_below(std::uint32_t word, std::uint32_t count, bool as_split) const {
    constexpr std::uint32_t width = Levels::template fan_out<At>();
    if constexpr (At == Level) {
      const std::uint32_t bit = level<At>().claim(word, count, as_split);
      return bit == detail::no_block ? bit : word * width + bit;
    } else {
      const std::uint32_t split = detail::split_of(level<At>().peek(word));
      for (std::uint32_t left = split; left != 0; left &= left - 1) {
        const auto bit = static_cast<std::uint32_t>(cuda::std::countr_zero(left));
        const std::uint32_t block = take_below<At - 1, Level>(word * width + bit, count, as_split);
        if (block != detail::no_block) return block;
      }
      return detail::no_block;
    }
  }

  /// Releases a part to the level it came from; false if it cannot have come from there or is not
  /// in use.
  template <unsigned Level>
  GNSTOR_HD bool release_to(extent part) const {
    constexpr std::uint64_t block_size = Levels::template bytes<Level>;
    constexpr std::uint32_t width = Levels::template fan_out<Level>();
    const std::uint64_t count = Levels::template blocks_for<Level>(part.bytes);
    if constexpr (Level != top) {
      if (count >= width) return release_to<Level + 1>(part);
    }
    const auto block = static_cast<std::uint32_t>(part.offset / block_size);
    const std::uint32_t word = block / width;
    const std::uint32_t bit = block % width;
    if (part.offset % block_size != 0 || bit + count > width) return false;
    const std::uint32_t blocks = detail::low_bits(static_cast<std::uint32_t>(count)) << bit;
    const std::uint64_t seen = level<Level>().peek(word);
    if (((detail::free_of(seen) | detail::split_of(seen)) & blocks) != 0 || !is_open<Level>(word))
      return false;
    merge<Level>(word, level<Level>().give(word, blocks));
    return true;
  }

  /// Whether the block of the level above that a word stands for is split: then the word's blocks
  /// exist.
  template <unsigned Level>
  GNSTOR_HD bool is_open(std::uint32_t word) const {
    if constexpr (Level == top) {
      return true;
    } else {
      constexpr std::uint32_t width = Levels::template fan_out<Level + 1>();
      return (detail::split_of(level<Level + 1>().peek(word / width)) >> word % width & 1) != 0;
    }
  }

  /// If all blocks of a word have become free, takes them together and frees the larger block; and
  /// so on upwards.
  template <unsigned Level>
  GNSTOR_HD void merge(std::uint32_t word, std::uint64_t value) const {
    if constexpr (Level != top) {
      constexpr std::uint64_t all_free = detail::low_bits(Levels::template fan_out<Level>());
      constexpr std::uint32_t width = Levels::template fan_out<Level + 1>();
      if (value != all_free || !level<Level>().close(word, all_free)) return;
      const std::uint32_t larger = word / width;
      merge<Level + 1>(larger,
                       level<Level + 1>().give_split(larger, std::uint32_t{1} << word % width));
    }
  }

  std::uint64_t* words_;
  std::uint32_t top_blocks_;
};

static_assert(std::is_trivially_copyable_v<block_allocator<thread_scope_device>>);
static_assert(sizeof(block_allocator<thread_scope_device>) == 16);
static_assert(block_allocator<thread_scope_device>::bytes_for(8 << 20) == (1 + 8 + 128) * 8);

}  // namespace gnstor::inline v0
