#pragma once

#include <gnstor/core/assert.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/memory/block_bits.hpp>
#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::inline v0 {

/// The bitmap of one level of an allocator: words of up to 32 blocks each, changed by single atomic
/// operations.
///
/// A reference to words that the allocator owns. Each operation is one step of a claim, a split, a
/// release or a merge; `detail::block_tree` says why their order makes no block lost or granted
/// twice.
/// @tparam Scope the threads that share the allocator
template <thread_scope Scope>
class bitmap_level {
 public:
  /// What `claim` took.
  struct claimed {
    detail::block_runs runs;  ///< none if the word has no such run
    std::uint64_t after = 0;  ///< the word after the claim
    bool lost = false;        ///< another thread changed the word meanwhile, at least once
  };

  GNSTOR_HD explicit bitmap_level(std::uint64_t* words) : words_(words) {}

  /// What a word holds at some moment; a hint about blocks that the caller does not own.
  GNSTOR_HD std::uint64_t peek(std::uint32_t word) const { return at(word).load(relaxed); }

  /// Takes up to `wanted` runs of `count` neighbouring free blocks of a word by one CAS and leaves
  /// them in state `as`.
  /// @par Order acquires what `give` or `open` of these blocks released
  /// @par Bound 8 lost races
  GNSTOR_HD claimed claim(std::uint32_t word, std::uint32_t count, std::uint32_t wanted,
                          detail::block_state as) const {
    claimed result;
    std::uint64_t seen = peek(word);
    for (bounded tries{8}; tries;) {
      const detail::block_runs runs = detail::pick_runs(detail::free_of(seen), count, wanted);
      if (runs.starts == 0) return result;
      const std::uint64_t taken =
          (seen & ~std::uint64_t{runs.blocks}) | detail::word_of(runs.blocks, as);
      // Acquire: pairs with the release in give(), or in open() if nobody had these blocks since
      // the split.
      if (at(word).compare_exchange(seen, taken, acquire)) {
        result.runs = runs;
        result.after = taken;
        return result;
      }
      result.lost = true;
    }
    return result;
  }

  /// Fills the word of a block that the caller owns and has just split.
  /// @par Order releases what the caller acquired with the larger block
  GNSTOR_HD bool open(std::uint32_t word, std::uint64_t value) const {
    std::uint64_t empty = 0;
    // Release: pairs with the acquire in claim() of any thread that takes one of the new blocks.
    return at(word).compare_exchange(empty, value, release);
  }

  /// Marks a split block as full, or takes the mark away; returns the word after, or before it.
  ///
  /// Only a thread that has a part of the block may: then the block cannot merge meanwhile.
  /// @par Order none: a mark is a hint; a merge knows of it by the release of that part
  GNSTOR_HD std::uint64_t mark_full(std::uint32_t word, std::uint32_t block) const {
    return at(word).fetch_or(block, relaxed) | block;
  }
  GNSTOR_HD std::uint64_t unmark_full(std::uint32_t word, std::uint32_t block) const {
    return at(word).fetch_and(~std::uint64_t{block}, relaxed);
  }

  /// Frees blocks that are in use; returns the word before it.
  /// @par Order releases the caller's use of the blocks
  GNSTOR_HD std::uint64_t give(std::uint32_t word, std::uint32_t blocks) const {
    // Release: pairs with the acquire in claim() of the next owner, or in close() when the
    // neighbours are free too.
    return at(word).fetch_or(blocks, release);
  }

  /// Frees a block that was split and that the caller has closed; returns the word after it.
  ///
  /// The block is not marked as full: whoever marks it has a part of it, and the release of that
  /// part takes the mark away.
  /// @par Order releases the use of all smaller blocks, which `close` acquired
  GNSTOR_HD std::uint64_t give_split(std::uint32_t word, std::uint32_t block) const {
    // The bit moves from the upper half to the lower half. Release: pairs with the acquire in
    // claim() and close().
    const std::uint64_t change = detail::level_word(0, block) - block;
    const std::uint64_t after = at(word).fetch_sub(change, release) - change;
    GNSTOR_ASSERT((detail::free_of(after) & block) != 0);
    return after;
  }

  /// Takes all blocks of a word if all are free: the caller then owns the larger block.
  /// @par Order acquires what every owner of one of the blocks released
  GNSTOR_HD bool close(std::uint32_t word, std::uint64_t all_free) const {
    // Acquire: pairs with the release of each give() to this word; they form one release sequence
    // with the claims.
    return at(word).compare_exchange(all_free, 0, acquire);
  }

 private:
  GNSTOR_HD atomic_ref<std::uint64_t, Scope> at(std::uint32_t word) const {
    return atomic_ref<std::uint64_t, Scope>(words_[word]);
  }

  std::uint64_t* words_;
};

}  // namespace gnstor::inline v0
