#pragma once

#include <gnstor/core/assert.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <cuda/std/bit>

namespace gnstor::fw {

/// The erased blocks of one SSD, shared by its shards: one bit a block, set while the block is free
/// (a view).
///
/// A bitmap and not a list: there is no head to contend for, no ABA, and recovery writes it in one
/// pass.
/// @tparam Scope the widest distance between two shard owners
template <thread_scope Scope>
class block_pool {
 public:
  static constexpr std::uint32_t none = ~0u;  ///< no block

  /// @param words one bit a block; bits past the last block stay clear
  GNSTOR_HD block_pool(std::uint32_t* words, std::uint32_t blocks)
      : words_(words), count_(word_count(blocks)) {}

  GNSTOR_HD static constexpr std::uint32_t word_count(std::uint32_t blocks) {
    return (blocks + 31) / 32;
  }

  /// Takes a free block, looking from `share / shares` of the pool on, so that shards stay out of
  /// each other's way.
  /// @par Callers one lane
  /// @par Result the block, now the caller's alone, or `none` when no word it passed had a free bit
  /// @par Order acquires what the giver of the block released in `give`
  /// @par Bound each word once, and each bit of a word at most once
  GNSTOR_HD std::uint32_t take(std::uint32_t share, std::uint32_t shares) const {
    const auto start = static_cast<std::uint32_t>(std::uint64_t{count_} * share / shares);
    for (std::uint32_t k = 0; k < count_; ++k) {
      const std::uint32_t at = start + k < count_ ? start + k : start + k - count_;
      const atomic_ref<std::uint32_t, Scope> word(words_[at]);
      std::uint32_t seen = word.load(relaxed);
      for (bounded n{32}; seen != 0 && n;) {
        const std::uint32_t bit = seen & (0 - seen);
        seen = word.fetch_and(~bit, acquire);
        if ((seen & bit) != 0)
          return at * 32 + static_cast<std::uint32_t>(cuda::std::countr_zero(bit));
      }
    }
    return none;
  }

  /// Gives an erased block back.
  /// @par Callers one lane, the owner of `block`
  /// @par Order releases the owner's stores to the block; pairs with the acquire in `take`
  GNSTOR_HD void give(std::uint32_t block) const {
    const std::uint32_t bit = 1u << block % 32;
    const std::uint32_t before =
        atomic_ref<std::uint32_t, Scope>(words_[block / 32]).fetch_or(bit, release);
    GNSTOR_VERIFY((before & bit) == 0);
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
  std::uint32_t* words_;
  std::uint32_t count_;
};

}  // namespace gnstor::fw
