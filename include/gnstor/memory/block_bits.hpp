#pragma once
/// Pure functions on the words of a bitmap: the state of 32 blocks in 64 bits, runs, and the n-th
/// bit.

#include <gnstor/core/config.hpp>

#include <cuda/std/bit>

namespace gnstor::detail {

/// What a block of a level is. Two bits a block: one in the lower half of the level's word, one in
/// the upper half, so that one CAS takes any number of the word's blocks from any state to another.
enum class block_state : std::uint8_t {
  in_use = 0,  ///< a caller's, or absent: whole inside a larger block, or past the pool's end
  free = 1,    ///< only the lower bit is set
  split = 2,   ///< only the upper bit: cut into blocks of the level below, some of them free
  full = 3,    ///< both: split, and none of its parts is free. A hint: searches pass it by
};

/// A word whose blocks `lower` have the lower bit, `upper` the upper bit.
GNSTOR_HD constexpr std::uint64_t level_word(std::uint32_t lower, std::uint32_t upper) {
  return std::uint64_t{upper} << 32 | lower;
}
/// A word in which all of `blocks` are in `state`.
GNSTOR_HD constexpr std::uint64_t word_of(std::uint32_t blocks, block_state state) {
  const auto bits = static_cast<unsigned>(state);
  return level_word((bits & 1) != 0 ? blocks : 0, (bits & 2) != 0 ? blocks : 0);
}
GNSTOR_HD constexpr std::uint32_t lower_of(std::uint64_t word) {
  return static_cast<std::uint32_t>(word);
}
/// The blocks that are split, full or not.
GNSTOR_HD constexpr std::uint32_t split_of(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 32);
}
GNSTOR_HD constexpr std::uint32_t free_of(std::uint64_t word) {
  return lower_of(word) & ~split_of(word);
}
/// The blocks that are split and not marked as full.
GNSTOR_HD constexpr std::uint32_t roomy_of(std::uint64_t word) {
  return split_of(word) & ~lower_of(word);
}
/// Whether any block of the word is free or roomy.
GNSTOR_HD constexpr bool has_room(std::uint64_t word) { return lower_of(word) != split_of(word); }

/// The lowest `count` bits, 0 to 32.
GNSTOR_HD constexpr std::uint32_t low_bits(std::uint32_t count) {
  return static_cast<std::uint32_t>((std::uint64_t{1} << count) - 1);
}

inline constexpr std::uint32_t no_block = 0xffffffff;

/// The lowest set bit at or above `from`, or else the lowest; `bits` is not 0.
GNSTOR_HD constexpr std::uint32_t next_bit(std::uint32_t bits, std::uint32_t from) {
  const std::uint32_t above = bits & ~low_bits(from);
  return static_cast<std::uint32_t>(cuda::std::countr_zero(above != 0 ? above : bits));
}

/// The position of the set bit that has `rank` set bits below it; `bits` has more than `rank`.
GNSTOR_HD constexpr std::uint32_t nth_bit(std::uint32_t bits, std::uint32_t rank) {
  std::uint32_t at = 0;
  for (std::uint32_t width = 16; width != 0; width /= 2) {
    const auto below =
        static_cast<std::uint32_t>(cuda::std::popcount(bits >> at & low_bits(width)));
    if (rank < below) continue;
    rank -= below;
    at += width;
  }
  return at;
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

/// Some runs of neighbouring blocks of one word.
struct block_runs {
  std::uint32_t starts = 0;  ///< the first block of each run
  std::uint32_t blocks = 0;  ///< all blocks of all runs
};

/// At most `wanted` disjoint runs of `count` set bits each, lowest first.
GNSTOR_HD constexpr block_runs pick_runs(std::uint32_t bits, std::uint32_t count,
                                         std::uint32_t wanted) {
  block_runs picked;
  for (std::uint32_t k = 0; k < wanted; ++k) {
    const std::uint32_t starts = run_starts(bits, count);
    if (starts == 0) break;
    const std::uint32_t first = starts & (~starts + 1);
    const std::uint32_t run = low_bits(count) * first;
    picked.starts |= first;
    picked.blocks |= run;
    bits &= ~run;
  }
  return picked;
}

static_assert(has_room(word_of(1, block_state::free)) && has_room(word_of(4, block_state::split)));
static_assert(!has_room(word_of(6, block_state::full)) && !has_room(0));
static_assert(low_bits(0) == 0 && low_bits(5) == 31 && low_bits(32) == 0xffffffff);
static_assert(next_bit(0b1001, 1) == 3 && next_bit(0b1001, 3) == 3 && next_bit(0b0110, 4) == 1);
static_assert(nth_bit(0b1011, 2) == 3 && nth_bit(0x80000001, 1) == 31 && nth_bit(1, 0) == 0);
static_assert(run_starts(0b1110'0110, 3) == 1u << 5 && run_starts(0b1110'0110, 4) == 0);
static_assert(run_starts(0xffffffff, 32) == 1 && run_starts(0x7fffffff, 32) == 0);
static_assert(run_starts(0xc0000001, 3) == 0 && run_starts(0xfffe0000, 15) == 1u << 17);
static_assert(pick_runs(0b1110'0110, 2, 9).starts == 0b0010'0010);
static_assert(pick_runs(0xffff, 5, 2).blocks == 0x3ff && pick_runs(0, 1, 4).starts == 0);
static_assert(pick_runs(0xffffffff, 32, 2).blocks == 0xffffffff);

}  // namespace gnstor::detail
