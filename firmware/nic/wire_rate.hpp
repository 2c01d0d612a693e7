#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/wire/ethernet/frame_limits.hpp>

#include <type_traits>

namespace gnstor::fw {

/// How fast a wire is: one frame behind the other, each with its preamble, check sequence and gap.
///
/// Who serves a port comes round late at times. It may catch up with `slack_ps` of frames, so that
/// over a longer while the wire carries what it can, and never more.
struct wire_rate {
  static constexpr std::int64_t slack_ps = 50'000'000;

  std::uint64_t byte_ps = 0;  ///< picoseconds that a byte takes; 0: none

  GNSTOR_HD static constexpr wire_rate of_gbits(std::uint32_t gbits) {
    return {gbits == 0 ? 0 : 8000u / gbits};
  }
  /// True if a frame may begin now.
  /// @param due when the wire is free, as `take` keeps it; 0 at first
  GNSTOR_HD constexpr bool is_free(std::uint64_t due, std::uint64_t now_ns) const {
    // Picoseconds since the clock began do not fit into a word for ever: the difference does.
    const auto left = static_cast<std::int64_t>(due - now_ns * 1000);
    return byte_ps == 0 || due == 0 || left <= 0 || left > most_ahead_ps;
  }
  /// Has the wire carry a frame that begins now. @return when it is free again
  GNSTOR_HD constexpr std::uint64_t take(std::uint64_t due, std::uint32_t bytes,
                                         std::uint64_t now_ns) const {
    return take_all(due, bytes, 1, now_ns);
  }
  /// The same of several frames, of `bytes` together.
  GNSTOR_HD constexpr std::uint64_t take_all(std::uint64_t due, std::uint64_t bytes,
                                             std::uint64_t frames, std::uint64_t now_ns) const {
    if (byte_ps == 0) return 0;
    const std::uint64_t now = now_ns * 1000;
    // Below zero where others have taken the wire since it was found free: these go first.
    const auto late = static_cast<std::int64_t>(now - due);
    const bool goes_on = due != 0 && late < slack_ps && late > -most_ahead_ps;
    const std::uint64_t begin = goes_on ? due : now - slack_ps;
    return begin + (bytes + frames * wire::ethernet::wire_overhead_bytes) * byte_ps;
  }
  /// The same of a wire that several give frames to: `due` is a word that they share.
  GNSTOR_HD void take_shared(std::uint64_t& due, std::uint64_t bytes, std::uint64_t frames,
                             std::uint64_t now_ns) const {
    const device_word<std::uint64_t> word(due);
    std::uint64_t seen = word.load(relaxed);
    for (bounded n{1u << 20}; n;)
      if (word.compare_exchange(seen, take_all(seen, bytes, frames, now_ns), relaxed)) return;
  }

 private:
  /// Nothing takes so long: a word that is further ahead is of long ago.
  static constexpr std::int64_t most_ahead_ps = 1'000'000'000'000;
};

static_assert(std::is_trivially_copyable_v<wire_rate>);
static_assert(wire_rate{}.is_free(~std::uint64_t{0}, 0) && wire_rate{}.take(5, 60, 9) == 0);
static_assert(wire_rate::of_gbits(10).take(7'000'000, 60, 7'000) == 7'000'000 + 84 * 800);
static_assert(!wire_rate::of_gbits(10).is_free(7'000'001, 7'000));

}  // namespace gnstor::fw
