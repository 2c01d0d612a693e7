#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <cuda/std/bit>

namespace gnstor::detail {

/// A word of a level: the state of up to 32 neighbouring blocks. The lower half has a bit for each
/// free block, the upper half one for each block that is split into blocks of the level below. A
/// block with neither bit is in use, or does not exist, or is whole inside a larger block. Both
/// halves share a word so that one CAS turns free into split.
GNSTOR_HD constexpr std::uint32_t free_of(std::uint64_t word) {
  return static_cast<std::uint32_t>(word);
}
GNSTOR_HD constexpr std::uint32_t split_of(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 32);
}
GNSTOR_HD constexpr std::uint64_t level_word(std::uint32_t free, std::uint32_t split) {
  return std::uint64_t{split} << 32 | free;
}

/// The lowest `count` bits, 0 to 32.
GNSTOR_HD constexpr std::uint32_t low_bits(std::uint32_t count) {
  return static_cast<std::uint32_t>((std::uint64_t{1} << count) - 1);
}

/// Where a run of `count` set bits starts: bit s of the result is set if bits s .. s + count - 1 of
/// `bits` are.
///
/// The run known to start at a bit doubles each step. Zeros shift in from above: no run crosses the
/// end of the word.
GNSTOR_HD constexpr std::uint32_t run_starts(std::uint32_t bits, std::uint32_t count) {
  for (std::uint32_t known = 1; known < count; known *= 2) {
    bits &= bits >> (known < count - known ? known : count - known);
  }
  return bits;
}

inline constexpr std::uint32_t no_block = 0xffffffff;

/// The lowest start of a run of `count` set bits, or `no_block`.
GNSTOR_HD constexpr std::uint32_t first_run(std::uint32_t bits, std::uint32_t count) {
  const std::uint32_t starts = run_starts(bits, count);
  return starts != 0 ? static_cast<std::uint32_t>(cuda::std::countr_zero(starts)) : no_block;
}

static_assert(low_bits(0) == 0 && low_bits(5) == 31 && low_bits(32) == 0xffffffff);
static_assert(first_run(0b1110'0110, 3) == 5 && first_run(0b1110'0110, 2) == 1);
static_assert(first_run(0b1110'0110, 4) == no_block && first_run(0, 1) == no_block);
static_assert(first_run(0xffffffff, 32) == 0 && first_run(0x7fffffff, 32) == no_block);
static_assert(first_run(0xc0000001, 3) == no_block && first_run(0xfffe0000, 15) == 17);

}  // namespace gnstor::detail

namespace gnstor::inline v0 {

/// The bitmap of one level of an allocator: words of up to 32 blocks each, changed by single atomic
/// operations.
///
/// A reference to words that the allocator owns. Each operation is one step of a claim, a split, a
/// release or a merge; `block_allocator` says why their order makes no block lost or granted twice.
/// @tparam Scope the threads that share the allocator
template <thread_scope Scope>
class bitmap_level {
 public:
  GNSTOR_HD explicit bitmap_level(std::uint64_t* words) : words_(words) {}

  /// What a word holds at some moment; a hint about blocks that the caller does not own.
  GNSTOR_HD std::uint64_t peek(std::uint32_t word) const { return at(word).load(relaxed); }

  /// Takes `count` neighbouring free blocks of a word, marked as split or as in use; the first
  /// block within the word, or `no_block` if there is no such run or other threads change the word
  /// too often.
  /// @par Order acquires what `give` or `open` of these blocks released
  /// @par Bound 64 lost races
  GNSTOR_HD std::uint32_t claim(std::uint32_t word, std::uint32_t count, bool as_split) const {
    std::uint64_t seen = peek(word);
    for (bounded tries{64}; tries;) {
      const std::uint32_t first = detail::first_run(detail::free_of(seen), count);
      if (first == detail::no_block) return detail::no_block;
      const std::uint32_t taken = detail::low_bits(count) << first;
      const std::uint64_t split = as_split ? detail::level_word(0, taken) : 0;
      // Acquire: pairs with the release in give(), or in open() if nobody had these blocks since
      // the split.
      if (at(word).compare_exchange(seen, (seen & ~std::uint64_t{taken}) | split, acquire))
        return first;
    }
    return detail::no_block;
  }

  /// Fills the word of a block that the caller owns and has just split.
  /// @par Order releases what the caller acquired with the larger block
  GNSTOR_HD bool open(std::uint32_t word, std::uint64_t value) const {
    std::uint64_t empty = 0;
    // Release: pairs with the acquire in claim() of any thread that takes one of the new blocks.
    return at(word).compare_exchange(empty, value, release);
  }

  /// Frees blocks that are in use; returns the word after it.
  /// @par Order releases the caller's use of the blocks
  GNSTOR_HD std::uint64_t give(std::uint32_t word, std::uint32_t blocks) const {
    // Release: pairs with the acquire in claim() of the next owner, or in close() when the
    // neighbours are free too.
    return at(word).fetch_or(blocks, release) | blocks;
  }

  /// Frees a block that was split and that the caller has closed; returns the word after it.
  /// @par Order releases the use of all smaller blocks, which `close` acquired
  GNSTOR_HD std::uint64_t give_split(std::uint32_t word, std::uint32_t block) const {
    // The bit moves from the upper half to the lower half. Release: pairs with the acquire in
    // claim() and close().
    const std::uint64_t change = detail::level_word(0, block) - block;
    return at(word).fetch_sub(change, release) - change;
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
