#pragma once

#include <gnstor/core/assert.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <cuda/std/bit>

namespace gnstor::fw {

/// The erased blocks of one SSD, shared by its shards: one bit per block, set while the block is
/// free (a view).
///
/// A bitmap and not a list: there is no head to contend for, no ABA, and recovery writes it in one
/// pass. A count of the set bits stands behind it: it is lowered before a bit is cleared and raised
/// after one is set, so that there are no fewer bits than it says.
/// @tparam Scope the widest distance between two shard owners
template <thread_scope Scope>
class block_pool {
 public:
  static constexpr std::uint32_t none = ~0u;  ///< no block

  /// @param words `word_count(blocks)` words, zero for an empty pool: one bit per block, and the
  /// count
  GNSTOR_HD block_pool(std::uint32_t* words, std::uint32_t blocks)
      : words_(words), count_((blocks + 31) / 32) {}

  GNSTOR_HD static constexpr std::uint32_t word_count(std::uint32_t blocks) {
    return (blocks + 31) / 32 + 1;
  }

  /// What a `take` got.
  struct taken {
    std::uint32_t block = none;  ///< now the caller's alone; `none` when there was none to take
    std::uint32_t left = 0;      ///< free blocks behind it, or that it was not to touch
  };

  /// Takes a free block, the first from block `from` on. A shard that goes on behind its last one
  /// stays out of the others' way, and uses all of them in turn.
  /// @param keep so many free blocks are left for others
  /// @par Callers one lane
  /// @par Order acquires what the giver of the block released in `give`
  /// @par Bound each word once (the first one twice), and each bit of a word at most once
  GNSTOR_HD taken take(std::uint32_t from, std::uint32_t keep) const {
    if (left() <= keep) return {none, left()};  // who must fail makes nobody else fail
    const std::uint32_t before = total().fetch_sub(1, relaxed);
    // Below zero it is a large number.
    if (static_cast<std::int32_t>(before) <= static_cast<std::int32_t>(keep)) {
      total().fetch_add(1, relaxed);
      return {none, static_cast<std::int32_t>(before) < 0 ? 0 : before};
    }
    std::uint32_t mask = ~0u << from % 32;
    for (std::uint32_t k = 0; k <= count_; ++k, mask = ~0u) {
      const std::uint32_t at = (from / 32 + k) % count_;
      const atomic_ref<std::uint32_t, Scope> word(words_[at]);
      std::uint32_t seen = word.load(relaxed) & mask;
      for (bounded n{32}; seen != 0 && n;) {
        const std::uint32_t bit = seen & (0 - seen);
        seen = word.fetch_and(~bit, acquire) & mask;
        if ((seen & bit) != 0)
          return {at * 32 + static_cast<std::uint32_t>(cuda::std::countr_zero(bit)), before - 1};
      }
    }
    // What it counted was set behind it, and what it passed was taken meanwhile.
    total().fetch_add(1, relaxed);
    return {none, before - 1};
  }

  /// Gives an erased block back.
  /// @par Callers one lane, the owner of `block`
  /// @par Order releases the owner's stores to the block; pairs with the acquire in `take`
  GNSTOR_HD void give(std::uint32_t block) const {
    const std::uint32_t bit = 1u << block % 32;
    const std::uint32_t before =
        atomic_ref<std::uint32_t, Scope>(words_[block / 32]).fetch_or(bit, release);
    GNSTOR_VERIFY((before & bit) == 0);
    total().fetch_add(1, relaxed);
  }

  /// About how many blocks are free. @par Callers anybody
  GNSTOR_HD std::uint32_t left() const {
    const auto n = static_cast<std::int32_t>(total().load(relaxed));
    return n < 0 ? 0 : static_cast<std::uint32_t>(n);
  }
  /// The number of free blocks, exact while no shard runs.
  GNSTOR_HD std::uint32_t size() const {
    std::uint32_t total = 0;
    for (std::uint32_t at = 0; at < count_; ++at) {
      const std::uint32_t word = atomic_ref<std::uint32_t, Scope>(words_[at]).load(relaxed);
      total += static_cast<std::uint32_t>(cuda::std::popcount(word));
    }
    return total;
  }

 private:
  GNSTOR_HD atomic_ref<std::uint32_t, Scope> total() const {
    return atomic_ref<std::uint32_t, Scope>(words_[count_]);
  }

  std::uint32_t* words_;
  std::uint32_t count_;
};

}  // namespace gnstor::fw
