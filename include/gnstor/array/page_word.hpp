#pragma once

#include <gnstor/core/units.hpp>

namespace gnstor::inline v0 {

/// The state of one page of an array, as one 64-bit word: frame 63:32, flags 31:28, reference count 27:0.
///
/// References are added and dropped by plain additions, whatever the flags say; a lane that finds the page busy keeps
/// its reference and waits. Only the lane that set `busy` changes the frame and the other flags.
struct page_word {
  static constexpr std::uint64_t reference = 1;
  static constexpr std::uint64_t reference_mask = (1ull << 28) - 1;
  static constexpr std::uint64_t resident = 1ull << 28;  ///< the frame holds the page
  static constexpr std::uint64_t busy = 1ull << 29;      ///< being fetched, written back or evicted
  static constexpr std::uint64_t dirty = 1ull << 30;     ///< the frame is newer than the store
  static constexpr std::uint64_t failed = 1ull << 31;    ///< the last fetch failed; sticky

  std::uint64_t bits = 0;

  GNSTOR_HD constexpr bool is(std::uint64_t flag) const { return (bits & flag) != 0; }
  GNSTOR_HD constexpr bool usable() const { return (bits & (resident | busy)) == resident; }
  GNSTOR_HD constexpr std::uint64_t references() const { return bits & reference_mask; }
  GNSTOR_HD constexpr frame_index frame() const { return frame_index(static_cast<std::uint32_t>(bits >> 32)); }
  GNSTOR_HD static constexpr std::uint64_t at(frame_index f) { return std::uint64_t{f.value} << 32; }
};

static_assert(page_word{page_word::resident | page_word::at(frame_index(7))}.frame() == frame_index(7));
static_assert(!page_word{page_word::resident | page_word::busy}.usable());
static_assert((page_word::reference_mask & (page_word::resident | page_word::busy | page_word::dirty)) == 0);

}  // namespace gnstor::inline v0
