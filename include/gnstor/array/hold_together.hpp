#pragma once
/// Several pages held at once by a group: all of them, or none.
///
/// Nobody waits for a page while he holds another. A page is pinned if it is there; if one is not,
/// all are let go, the missing ones are fetched and let go, too, and all are tried again. Two
/// groups that need each other's frames so never wait for each other.
///
/// Do they go on? Frames are taken in the order in which they were filled. Where the pages that are
/// wanted at once, by all groups together, are not more than the frames, every page that nobody
/// wants loses its frame before one that somebody does; so after as many fetches as there are
/// frames all wanted pages are there, and each group finds its own. Where they are more, a group
/// may find none together, and ends at its deadline. That is so of `eviction::fifo`, the default;
/// `resist_scans` brings pages into an eighth of the frames, which have to do then.

#include <gnstor/array/present_pages.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/fence.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/simt/warp.hpp>

namespace gnstor::detail {

/// A page that a group wants beside others, and its frame once it is pinned.
/// @tparam Pages `page_cache`, `copied_pages` or `served_pages`
template <class Pages>
struct wanted_page {
  const Pages* pages = nullptr;
  page_index page{};
  page_use use = page_use::read;
  frame_index frame{};

  /// Pages that are overwritten need no fetch, where the group itself fetches.
  static constexpr bool begins_pages =
      requires(const Pages& p, page_index page, const simt::group& g) {
    p.begin(g, page, true, deadline::never());
  };

  using words_type = typename Pages::words_type;
  GNSTOR_HD present_pages<words_type> there() const { return present_pages<words_type>(*pages); }
  GNSTOR_HD bool is_begun() const { return begins_pages && use == page_use::overwrite; }

  /// Pins it if it is there; begins it if it is overwritten and a frame is free.
  /// @param timeout_ns of the write-back of the page that lies in the frame
  /// @par Callers every lane of `g`, converged; so of all here
  /// @par Errors as `present_pages::try_pin`
  template <class G>
  GNSTOR_HD status take(const G& g, std::uint64_t timeout_ns) {
    result<frame_index> got = frame_index{};
    if (g.thread_rank() == 0) got = there().try_pin(page);
    status s = spread(g, got);
    if constexpr (begins_pages) {
      if (use == page_use::overwrite && s.code == status_code::would_block)
        s = begin(g, timeout_ns);
    }
    return s;
  }
  template <class G>
  GNSTOR_HD void let_go(const G& g) const {
    if (g.thread_rank() == 0) pages->unpin(page);
  }
  /// Hands it over to who fetches, if it is missing and others do.
  template <class G>
  GNSTOR_HD void ask_for(const G& g) const {
    if constexpr (requires { pages->prefetch(page); }) {
      if (g.thread_rank() == 0) pages->prefetch(page);
    }
  }
  /// Fetches it if it is missing, and holds nothing.
  template <class G>
  GNSTOR_HD status wait(const G& g, deadline d) const {
    bool missing = false;
    if (g.thread_rank() == 0) missing = !is_begun() && !there().has(page);
    if (!g.any(missing)) return status{};
    const std::uint64_t now = simt::now_ns();
    const std::uint64_t left = d.expired(now) ? 1 : d.at_ns() - now;
    const result<frame_index> held = pages->hold(g, page, page_use::read, left);
    if (!held) return held.status;
    let_go(g);
    return status{};
  }
  template <class G>
  GNSTOR_HD void mark(const G& g) const {
    if (use != page_use::read && g.thread_rank() == 0) there().will_write(page);
  }

 private:
  template <class G>
  GNSTOR_HD status spread(const G& g, const result<frame_index>& got) {
    frame = frame_index(g.shfl(got.value.value, 0));
    return status::unpack(g.shfl(got.status.pack(), 0));
  }
  /// A frame is looked for and not waited for: others are held.
  template <class G>
  GNSTOR_HD status begin(const G& g, std::uint64_t timeout_ns) {
    bool mine = false;
    if (g.thread_rank() == 0) mine = there().try_claim(page);
    result<frame_index> got = status::make(status_code::would_block, reporter::array);
    if (g.any(mine)) {
      pages->begin(g, page, mine, simt::within(timeout_ns));
      if (mine) got = there().end_claim(page);
    }
    return spread(g, got);
  }
};

/// Pins all pages that are there, or none.
template <class G>
GNSTOR_HD status take_all(const G&, std::uint64_t) {
  return status{};
}
template <class G, class First, class... Rest>
GNSTOR_HD status take_all(const G& g, std::uint64_t timeout_ns, First& first, Rest&... rest) {
  status s = first.take(g, timeout_ns);
  if (!s.ok()) return s;
  s = take_all(g, timeout_ns, rest...);
  if (!s.ok()) first.let_go(g);
  return s;
}

/// Fetches all pages that are missing, and holds none.
template <class G>
GNSTOR_HD status wait_for_all(const G&, deadline) {
  return status{};
}
template <class G, class First, class... Rest>
GNSTOR_HD status wait_for_all(const G& g, deadline d, const First& first, const Rest&... rest) {
  const status s = first.wait(g, d);
  return s.ok() ? wait_for_all(g, d, rest...) : s;
}

/// Pins all of `wanted` for all lanes of `g`, or none. One that is overwritten is the last.
/// @par Callers every lane of `g`, converged, with the same arguments
/// @par Order acquires the pages' bytes for every lane
/// @par Bound `timeout_ns`
/// @par Errors why one cannot be fetched; no_memory if they were not there together
template <class G, class... Wanted>
GNSTOR_HD_SLOW status hold_together(G g, std::uint64_t timeout_ns, Wanted&... wanted) {
  constexpr status not_there = status::make(status_code::would_block, reporter::array);
  constexpr status too_late = status::make(status_code::timed_out, reporter::array);
  status s = take_all(g, timeout_ns, wanted...);
  if (s == not_there) {
    const deadline d = simt::within(timeout_ns);
    bool were_fetched = false;
    for (until more{d}; s == not_there && g.any(static_cast<bool>(more));) {
      (wanted.ask_for(g), ...);
      s = wait_for_all(g, d, wanted...);
      if (s.ok()) s = take_all(g, timeout_ns, wanted...);
      were_fetched = were_fetched || s == not_there;
    }
    if (s == not_there || (s == too_late && were_fetched))
      s = status::make(status_code::no_memory, reporter::array);
  }
  if (!s.ok()) return s;
  (wanted.mark(g), ...);
  g.sync();  // the leader's acquire of the pages reaches the lanes that touch them
  // What is stored now is newer than the frames' pages before: see `page_table::is_still`.
  if (((wanted.use != page_use::read) || ...)) simt::fence<thread_scope_device>(acq_rel);
  return s;
}

}  // namespace gnstor::detail
