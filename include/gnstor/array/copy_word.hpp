#pragma once

#include <gnstor/core/config.hpp>

#include <cstdint>

namespace gnstor::inline v0 {

/// How far the copy of a page into a frame has come, as one 64-bit word: its chunks 42:32, those
/// begun 31:11, those done 10:0. The frame's own word names the page.
///
/// Any warp begins chunks by addition, whatever page is copied meanwhile. Those that find none left
/// add in vain; there is room for one of each thread.
struct copy_word {
  static constexpr std::uint64_t one_done = 1;
  static constexpr std::uint64_t one_begun = 1ull << 11;

  std::uint64_t bits = 0;

  GNSTOR_HD static constexpr copy_word of(std::uint32_t chunks) {
    return {std::uint64_t{chunks} << 32};
  }
  GNSTOR_HD constexpr std::uint32_t chunks() const {
    return static_cast<std::uint32_t>(bits >> 32);
  }
  GNSTOR_HD constexpr std::uint32_t begun() const {
    return static_cast<std::uint32_t>(bits >> 11 & ((1u << 21) - 1));
  }
  GNSTOR_HD constexpr std::uint32_t done() const {
    return static_cast<std::uint32_t>(bits & ((1u << 11) - 1));
  }
  /// True if there is a chunk that nobody has begun.
  GNSTOR_HD constexpr bool has_more() const { return begun() < chunks(); }
};

static_assert(!copy_word{}.has_more());
static_assert(copy_word::of(1024).chunks() == 1024);
static_assert(copy_word{copy_word::of(7).bits + 300'000 * copy_word::one_begun +
                        1024 * copy_word::one_done}
                  .begun() == 300'000);

}  // namespace gnstor::inline v0
