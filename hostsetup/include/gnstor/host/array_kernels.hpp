#pragma once
/// What the owner of an array has kernels do to its pages.

#include <gnstor/array/page_use.hpp>
#include <gnstor/core/status.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/group.hpp>

#include <cstdint>

namespace gnstor::detail {

/// What a flush could not write back. In memory that its kernel reaches; zero at the start.
struct flush_record {
  std::uint64_t pages = 0;  ///< how many
  std::uint64_t first = 0;  ///< `status::pack()` of one of them
  std::uint64_t page = 0;   ///< which one that is

  GNSTOR_HD void add(status s, std::uint64_t which) {
    device_word<std::uint64_t>(pages).fetch_add(1, relaxed);
    std::uint64_t none = 0;
    if (device_word<std::uint64_t>(first).compare_exchange(none, s.pack(), relaxed))
      device_word<std::uint64_t>(page).store(which, relaxed);
  }
};

/// Pages of an array, one after another.
struct page_range {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// What becomes of a page after it was written back: nothing; it has to be unused, as the host will
/// read it; it loses its frame besides, as the host will write it.
enum class after_flush : std::uint8_t { any, unused, dropped };

/// Writes dirty pages back: one lane per page, in turn, by whole warps.
struct flush_pages {
  page_range range{.count = ~std::uint64_t{0}};  ///< as far as the array goes
  after_flush then = after_flush::any;

  /// @param left gets the pages that could not be written back, or are used by a kernel
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, flush_record* left) const {
    const simt::group warp = lane.warp();
    const std::uint64_t most = view.cache().pages() - range.first;
    const std::uint64_t count = range.count < most ? range.count : most;
    for (std::uint64_t k = lane.global_thread(); warp.any(k < count); k += lane.grid_threads()) {
      const bool mine = k < count;
      const page_index page(static_cast<std::uint32_t>(range.first + (mine ? k : 0)));
      status s = view.flush(warp, page, mine);
      if (mine && s.ok() && then == after_flush::unused) s = view.cache().unused(page);
      if (mine && s.ok() && then == after_flush::dropped) s = view.cache().drop(page);
      if (!s.ok()) left->add(s, page.value);
    }
  }
};

/// Lets every page whose fetch failed be fetched again.
struct forgive_pages {
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view) const {
    for (std::uint32_t p = lane.global_thread(); p < view.cache().pages();
         p += lane.grid_threads()) {
      view.cache().forgive(page_index(p));
    }
  }
};

/// Takes every frame back that was set aside.
struct take_frames_back {
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view) const {
    for (std::uint32_t f = lane.global_thread(); f < view.cache().frames();
         f += lane.grid_threads())
      view.cache().take_back(frame_index(f));
  }
};

/// Brings pages of a range into frames, one per lane in turn.
struct fetch_pages {
  page_range range;
  std::uint64_t timeout_ns = 0;

  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view) const {
    for (std::uint64_t k = lane.global_thread(); k < range.count; k += lane.grid_threads()) {
      const page_index page(static_cast<std::uint32_t>(range.first + k));
      (void)view.cache().visit(page, page_use::read, timeout_ns, [](unsigned char*) {});
    }
  }
};

}  // namespace gnstor::detail
