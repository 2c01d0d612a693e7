#pragma once

#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace gnstor::benchmarks {

/// Pages that the optimal offline policy fetches for a page trace (Belady's MIN: where a frame is
/// needed, the page that is used again last loses its own): no policy with as many frames, however
/// clever, fetches fewer. Frames are empty at first. Host only.
///
/// Takes time n log n for n touches, and 24 bytes per touch.
/// @param trace the pages in the order in which they are touched, each below `pages`
/// @param frames at least 1
inline std::uint64_t optimal_fetches(std::span<const std::uint32_t> trace, std::uint32_t pages,
                                     std::uint64_t frames) {
  constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
  // When the page of each touch is touched next.
  std::vector<std::uint64_t> next_touch(trace.size());
  std::vector<std::uint64_t> touched(pages, never);
  for (std::uint64_t k = trace.size(); k-- != 0;)
    next_touch[k] = std::exchange(touched[trace[k]], k);

  // Of pages in frames: when they are touched next, and 0 of all others.
  std::vector<std::uint64_t> due(pages, 0);
  // A page's entry is out of date where it is not what `due` says: it was touched since.
  std::priority_queue<std::pair<std::uint64_t, std::uint32_t>> latest;
  std::uint64_t fetches = 0;
  std::uint64_t used = 0;
  for (std::uint64_t k = 0; k < trace.size(); ++k) {
    const std::uint32_t page = trace[k];
    if (due[page] == 0) {
      ++fetches;
      if (used < frames) {
        ++used;
      } else {
        while (due[latest.top().second] != latest.top().first) latest.pop();
        due[latest.top().second] = 0;
        latest.pop();
      }
    }
    due[page] = next_touch[k];
    latest.push({due[page], page});
  }
  return fetches;
}

}  // namespace gnstor::benchmarks
