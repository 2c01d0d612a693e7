#pragma once

#include <gnstor/core/config.hpp>
#include <gnstor/core/units.hpp>

#include <cstdint>

namespace gnstor::inline v0 {

/// How far the copy of a page into a frame has come, as one 64-bit word: page + 1 63:32, chunks
/// begun 31:11, chunks done 10:0.
///
/// Any warp begins chunks by addition, whatever page the word names meanwhile. Those that find none
/// left add in vain; there is room for one of each thread.
struct copy_word {
  static constexpr std::uint64_t one_done = 1;
  static constexpr std::uint64_t one_begun = 1ull << 11;

  std::uint64_t bits = 0;

  GNSTOR_HD static constexpr copy_word of(page_index page) {
    return {(std::uint64_t{page.value} + 1) << 32};
  }
  GNSTOR_HD constexpr bool names_page() const { return bits >> 32 != 0; }
  GNSTOR_HD constexpr page_index page() const {
    return page_index(static_cast<std::uint32_t>((bits >> 32) - 1));
  }
  GNSTOR_HD constexpr std::uint32_t begun() const {
    return static_cast<std::uint32_t>(bits >> 11 & ((1u << 21) - 1));
  }
  GNSTOR_HD constexpr std::uint32_t done() const {
    return static_cast<std::uint32_t>(bits & ((1u << 11) - 1));
  }
};

static_assert(!copy_word{}.names_page());
static_assert(copy_word::of(page_index(0)).page() == page_index(0));
static_assert(copy_word{copy_word::of(page_index(7)).bits + 300'000 * copy_word::one_begun +
                        1024 * copy_word::one_done}
                  .begun() == 300'000);

}  // namespace gnstor::inline v0
