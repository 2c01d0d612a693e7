#pragma once

#include <gnstor/core/config.hpp>

#include <cstdint>

namespace gnstor::inline v0 {

/// Which page gives up its frame to one that is missed. None takes a page that is pinned.
///
/// A page is marked as accessed when it comes in, and by lanes that find the mark gone; the hand
/// that looks for frames takes it away. So a read of a page that is there writes nothing.
enum class eviction : std::uint8_t {
  fifo,   ///< the one that came in first, as DREAM does
  clock,  ///< the same, but a page that was accessed since the hand went by stays for another round
  resist_scans,  ///< an eighth of the frames takes what comes in; the others keep their pages as
                 ///< long as those are accessed. For data that is read from end to end, again and
                 ///< again: the rules above have lost each page just before it is read again
};

}  // namespace gnstor::inline v0

namespace gnstor::detail {

/// Frames that take what comes in, where scans are resisted: the first ones. At least one for each
/// lane of a warp.
GNSTOR_HD constexpr std::uint32_t passing_frames(std::uint32_t frames) {
  constexpr std::uint32_t least = 32;
  const std::uint32_t share = frames / 8;
  if (share >= least) return share;
  return frames < least ? frames : least;
}

/// The frame that the hand looks at in its turn `turn`. Every `slow`-th turn goes over the frames
/// that keep their pages: a round over them is so long that a scan of up to eight times the frames
/// comes to each of their pages meanwhile.
GNSTOR_HD constexpr std::uint32_t frame_of_turn(eviction how, std::uint64_t turn,
                                                std::uint32_t frames) {
  constexpr std::uint64_t slow = 16;
  const std::uint32_t passing = passing_frames(frames);
  // The first round fills all frames.
  if (how != eviction::resist_scans || passing == frames || turn < frames)
    return static_cast<std::uint32_t>(turn % frames);
  if (turn % slow == 0)
    return passing + static_cast<std::uint32_t>(turn / slow % (frames - passing));
  return static_cast<std::uint32_t>((turn - turn / slow) % passing);
}

static_assert(passing_frames(8) == 8 && passing_frames(100) == 32 && passing_frames(1024) == 128);
static_assert(frame_of_turn(eviction::clock, 1025, 1024) == 1);
static_assert(frame_of_turn(eviction::resist_scans, 1023, 1024) == 1023);
static_assert(frame_of_turn(eviction::resist_scans, 1040, 1024) == 128 + 65);
static_assert(frame_of_turn(eviction::resist_scans, 1041, 1024) == (1041 - 65) % 128);

}  // namespace gnstor::detail
