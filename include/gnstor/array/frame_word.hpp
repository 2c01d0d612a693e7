#pragma once

#include <gnstor/core/config.hpp>
#include <gnstor/core/units.hpp>

#include <cstdint>

namespace gnstor::inline v0 {

/// What a frame is used for, as one 64-bit word: flags 63:60, the array among those that share the
/// frames 39:32, its page 31:0. Zero: for nothing.
struct frame_word {
  static constexpr std::uint64_t holds = 1ull << 60;  ///< the page
  static constexpr std::uint64_t taken = 1ull << 61;  ///< by a lane that fills it
  /// A write-back that was given up may still read the frame: the page may stay, but no other may
  /// follow it.
  static constexpr std::uint64_t last_page = 1ull << 62;
  static constexpr std::uint64_t lost = 1ull << 63;  ///< by the array; a request given up may still
                                                     ///< write it
  /// In place of the number of an array that has ended.
  static constexpr std::uint32_t no_array = 0xff;

  std::uint64_t bits = 0;

  GNSTOR_HD static constexpr frame_word of(std::uint64_t flag, std::uint32_t array,
                                           page_index page = {}) {
    return {flag | std::uint64_t{array} << 32 | page.value};
  }
  GNSTOR_HD constexpr bool is(std::uint64_t flag) const { return (bits & flag) != 0; }
  GNSTOR_HD constexpr bool is_free() const { return bits == 0; }
  GNSTOR_HD constexpr std::uint32_t array() const {
    return static_cast<std::uint32_t>(bits >> 32 & 0xff);
  }
  GNSTOR_HD constexpr page_index page() const {
    return page_index(static_cast<std::uint32_t>(bits));
  }
};

static_assert(frame_word::of(frame_word::holds, 3, page_index(7)).array() == 3);
static_assert(frame_word::of(frame_word::taken, 3, page_index(7)).page() == page_index(7));
static_assert(!frame_word::of(frame_word::holds, 0).is_free());

}  // namespace gnstor::inline v0
