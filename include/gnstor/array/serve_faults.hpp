#pragma once

#include <gnstor/array/fault_ring.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::inline v0 {

/// The pager: warps that fetch the pages which lanes of other kernels miss, up to 32 at a time
/// each. A service that runs beside them: `host::array::attach` starts it.
///
/// It never waits for those lanes: a page for which no frame is free is let go, and who waits for
/// it asks again. It leaves when it is to stop and no fault waits.
///
/// Some of its warps, the cleaners, write pages back before their frames are needed, so that who
/// fetches a page seldom has to write another one back first.
/// @tparam Pages `page_cache` or `copied_pages`
template <class Pages>
struct serve_faults {
  struct shared {};
  /// Threads of a block: the I/O engine takes many registers.
  static constexpr std::uint32_t most_threads = 128;

  Pages pages;
  fault_ring faults;
  std::uint64_t timeout_ns;  ///< of one page
  std::uint32_t* stop;       ///< not 0: leave
  std::uint32_t* arrived;    ///< counts the warps that have begun
  std::uint32_t fetchers;    ///< warps that fetch, the first to begin; the others are cleaners

  /// @par Callers every lane of the grid, whole warps
  /// @par Bound until `*stop`; each page `timeout_ns`
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const simt::group g = lane.warp();
    std::uint32_t number = 0;
    if (g.leads()) number = device_word<std::uint32_t>(*arrived).fetch_add(1, relaxed);
    number = g.broadcast(number);
    const bool fetches = number < fetchers;
    std::uint32_t quiet = 0;
    for (bounded rounds{~std::uint64_t{0}}; rounds; ++number) {
      if (fetches ? serve_some(g, number) : pages.clean_ahead(g, simt::within(timeout_ns))) {
        quiet = 0;
      } else {
        if (++quiet % 8 == 0 && is_over(g)) break;
        // Up to 640 ns: many that ask all the time would keep each other from what they ask for.
        constexpr std::uint32_t longest = 5 * 64;
        simt::pause(quiet < longest ? quiet : longest);
      }
    }
    if (g.leads()) faults.leave();
  }

 private:
  GNSTOR_HD bool serve_some(const simt::group& g, std::uint32_t ring) const {
    page_fault mine;
    const std::uint32_t taken = faults.take(g, ring, mine);
    if (taken != 0) pages.serve(g, mine, g.thread_rank() < taken, simt::within(timeout_ns));
    return taken != 0;
  }
  /// Whoever has ended before the stop had pushed its last fault before.
  GNSTOR_HD bool is_over(const simt::group& g) const {
    std::uint32_t over = 0;
    if (g.leads())
      over = device_word<std::uint32_t>(*stop).load(acquire) != 0 && faults.is_empty() ? 1 : 0;
    return g.broadcast(over) != 0;
  }
};

}  // namespace gnstor::inline v0
