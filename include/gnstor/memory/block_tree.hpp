#pragma once

#include <gnstor/core/assert.hpp>
#include <gnstor/memory/bitmap_level.hpp>
#include <gnstor/memory/levels.hpp>

namespace gnstor::detail {

/// A search for runs of blocks of one level, and what the searching thread learned on the way.
struct block_search {
  std::uint32_t count = 1;   ///< blocks of a run
  std::uint32_t wanted = 1;  ///< runs, of one word
  std::uint32_t spread = 0;  ///< where in each word to begin: 0 packs a pool from its start on
  bool thorough = false;     ///< look into blocks marked as full too
  bool lost = false;         ///< another thread was faster somewhere
};

/// Runs of blocks that one word gave.
struct block_grant {
  std::uint32_t word = 0;
  std::uint32_t starts = 0;  ///< the first block of each run, as bits of the word; 0: none
};

/// The bitmaps of all levels of a pool, and the steps of an allocator on them: search, split,
/// release, merge.
///
/// Why no block is lost or granted twice: a block's bits are changed by its owner alone, except
/// free -> in use, which a CAS makes exclusive. A larger block is split by the one thread that
/// claimed it, and filled in after that; it is merged by the one thread whose CAS takes all its
/// parts at once, and freed after that. In between its parts are nobody's to see: a concurrent
/// request may find nothing, never a wrong block. Whoever frees the last part of a block sees it
/// complete, so that an idle pool is whole.
///
/// A split block without free parts is marked as full, so that a search goes down one path and not
/// through every block in use. Only threads that have a part of the block mark and unmark it, so
/// never while it merges. A mark may be stale: the thread that took the last part marks the block
/// although another has given one back since. The next release in the block repairs it, or a
/// thorough search.
/// @tparam Scope the threads that share the pool
/// @tparam Levels block sizes, `levels<...>`
template <thread_scope Scope, class Levels>
class block_tree {
 public:
  static constexpr unsigned top = Levels::top;

  GNSTOR_HD block_tree(std::uint64_t* words, std::uint32_t top_blocks)
      : words_(words), top_blocks_(top_blocks) {}

  /// Blocks of a level in one word.
  template <unsigned Level>
  static constexpr std::uint32_t width = Levels::template fan_out<Level>();

  /// Words of a level: one for each block of the level above; at the top, one for 32 blocks.
  template <unsigned Level>
  GNSTOR_HD static constexpr std::uint32_t words(std::uint32_t top_blocks) {
    if constexpr (Level == top) {
      return (top_blocks + width<top> - 1) / width<top>;
    } else if constexpr (Level + 1 == top) {
      return top_blocks;
    } else {
      return words<Level + 1>(top_blocks) * width<Level + 1>;
    }
  }
  template <unsigned Level>
  GNSTOR_HD std::uint32_t words() const {
    return words<Level>(top_blocks_);
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

  GNSTOR_HD std::uint32_t top_blocks() const { return top_blocks_; }
  GNSTOR_HD const std::uint64_t* memory() const { return words_; }

  /// Takes runs of a level: from a split block, or by splitting one.
  /// @par Order acquires what the earlier owners of the blocks released
  /// @par Bound one walk over the blocks that a search may look into, at most 8 lost races a word
  template <unsigned Level>
  GNSTOR_HD block_grant take(block_search& search) const {
    const block_grant found = find<Level>(search, block_state::in_use);
    if (found.starts != 0) return found;
    if constexpr (Level != top) {
      const block_runs runs = pick_runs(low_bits(width<Level>), search.count, search.wanted);
      const std::uint32_t word = split_for<Level>(search, runs.blocks, block_state::in_use);
      if (word != no_block) return {word, runs.starts};
    }
    return {};
  }

  /// Whether all of `blocks` are in use, as far as that can be seen: none is free or split, and the
  /// block of the level above is split.
  template <unsigned Level>
  GNSTOR_HD bool in_use(std::uint32_t word, std::uint32_t blocks) const {
    const std::uint64_t seen = level<Level>().peek(word);
    if (((lower_of(seen) | split_of(seen)) & blocks) != 0) return false;
    if constexpr (Level == top) {
      return true;
    } else {
      return (split_of(parent_word<Level>(word)) & parent_bit<Level>(word)) != 0;
    }
  }

  /// Frees blocks that the caller owns; returns those that somebody had freed before.
  ///
  /// If all blocks of the word have become free, takes them together and frees the larger block;
  /// and so on upwards.
  /// @par Order releases the caller's use of the blocks
  /// @par Bound no loop; at most four atomic operations a level
  template <unsigned Level>
  GNSTOR_HD std::uint32_t give(std::uint32_t word, std::uint32_t blocks) const {
    tell_room<Level>(word);
    const std::uint64_t before = level<Level>().give(word, blocks);
    if ((before | blocks) != before) merge<Level>(word, before | blocks);
    return lower_of(before) & blocks;
  }

 private:
  template <unsigned Level>
  GNSTOR_HD std::uint64_t parent_word(std::uint32_t word) const {
    return level<Level + 1>().peek(word / width<Level + 1>);
  }
  template <unsigned Level>
  GNSTOR_HD static constexpr std::uint32_t parent_bit(std::uint32_t word) {
    return std::uint32_t{1} << word % width<Level + 1>;
  }

  /// Takes runs of a level from blocks that are split already.
  template <unsigned Level>
  GNSTOR_HD block_grant find(block_search& search, block_state as) const {
    const std::uint32_t count = words<top>();
    for (std::uint32_t k = 0; k < count; ++k) {
      const block_grant found = find_below<top, Level>((search.spread + k) % count, search, as);
      if (found.starts != 0) return found;
    }
    return {};
  }

  /// Takes runs of blocks of level `Level` within the blocks of one word of level `At`, walking
  /// down split blocks only.
  template <unsigned At, unsigned Level>
  GNSTOR_HD block_grant find_below(std::uint32_t word, block_search& search, block_state as) const {
    if constexpr (At == Level) {
      const auto got = level<At>().claim(word, search.count, search.wanted, as);
      search.lost = search.lost || got.lost;
      if (got.runs.starts != 0) tell_claimed<At>(word, got.after, search.thorough);
      return {word, got.runs.starts};
    } else {
      const std::uint64_t seen = level<At>().peek(word);
      std::uint32_t left = search.thorough ? split_of(seen) : roomy_of(seen);
      for (std::uint32_t k = 0; k < width<At> && left != 0; ++k) {
        const std::uint32_t bit = next_bit(left, search.spread % width<At>);
        left &= ~(std::uint32_t{1} << bit);
        const block_grant found = find_below<At - 1, Level>(word * width<At> + bit, search, as);
        if (found.starts != 0) return found;
      }
      return {};
    }
  }

  /// Splits a block of the level above, leaves `taken` of its parts in state `as` and the others
  /// free; the word of the parts, or `no_block` if there is nothing to split.
  template <unsigned Level>
  GNSTOR_HD std::uint32_t split_for(block_search& search, std::uint32_t taken,
                                    block_state as) const {
    const std::uint64_t value =
        word_of(taken, as) | word_of(low_bits(width<Level>) & ~taken, block_state::free);
    const block_state larger = has_room(value) ? block_state::split : block_state::full;
    block_search above{.spread = search.spread, .thorough = search.thorough};
    const std::uint32_t word = take_one<Level + 1>(above, larger);
    search.lost = search.lost || above.lost;
    if (word == no_block) return no_block;
    const bool opened = level<Level>().open(word, value);
    GNSTOR_VERIFY(opened);
    return word;
  }

  /// Takes one block of a level to split it; its index, or `no_block`.
  template <unsigned Level>
  GNSTOR_HD std::uint32_t take_one(block_search& search, block_state as) const {
    const block_grant found = find<Level>(search, as);
    if (found.starts != 0) return found.word * width<Level> + nth_bit(found.starts, 0);
    if constexpr (Level != top) {
      const std::uint32_t word = split_for<Level>(search, 1, as);
      if (word != no_block) return word * width<Level>;
    }
    return no_block;
  }

  /// After a claim: marks the larger block if that took its last part, and takes a stale mark away.
  template <unsigned Level>
  GNSTOR_HD void tell_claimed(std::uint32_t word, std::uint64_t after, bool may_be_stale) const {
    if constexpr (Level != top) {
      if (!has_room(after)) {
        const std::uint32_t larger = word / width<Level + 1>;
        const std::uint64_t marked = level<Level + 1>().mark_full(larger, parent_bit<Level>(word));
        tell_claimed<Level + 1>(larger, marked, false);
      } else if (may_be_stale) {
        tell_room<Level>(word);
      }
    }
  }

  /// Takes the marks of all larger blocks away. The caller has a part of them, and may give it back
  /// next.
  template <unsigned Level>
  GNSTOR_HD void tell_room(std::uint32_t word) const {
    if constexpr (Level != top) {
      const std::uint32_t larger = word / width<Level + 1>;
      const std::uint32_t bit = parent_bit<Level>(word);
      if ((lower_of(parent_word<Level>(word)) & bit) != 0) {
        (void)level<Level + 1>().unmark_full(larger, bit);
      }
      tell_room<Level + 1>(larger);
    }
  }

  /// If all blocks of a word have become free, takes them together and frees the larger block.
  template <unsigned Level>
  GNSTOR_HD void merge(std::uint32_t word, std::uint64_t value) const {
    if constexpr (Level != top) {
      constexpr std::uint64_t all_free = low_bits(width<Level>);
      if (value != all_free || !level<Level>().close(word, all_free)) return;
      const std::uint32_t larger = word / width<Level + 1>;
      // The larger block's own mark is gone before a part of the one above becomes free.
      tell_room<Level + 1>(larger);
      merge<Level + 1>(larger, level<Level + 1>().give_split(larger, parent_bit<Level>(word)));
    }
  }

  std::uint64_t* words_;
  std::uint32_t top_blocks_;
};

}  // namespace gnstor::detail
