#pragma once

#include <gnstor/array/fault_ring.hpp>
#include <gnstor/array/page_table.hpp>
#include <gnstor/array/pinned_access.hpp>
#include <gnstor/array/served_store.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/fence.hpp>

#include <cuda/std/bit>

namespace gnstor::inline v0 {

/// Pages that other warps fetch (a reference, passed by value): a lane that misses one says so by a
/// `fault_ring` and waits, and `serve_faults` does the rest.
///
/// The same words as `page_cache` or `copied_pages`, whose pages these are; lanes of both may use
/// them at once. A kernel carries no I/O code, and so few registers.
/// @tparam Words of the pages
template <class Words>
class served_pages : public page_table<Words> {
  using table = page_table<Words>;

 public:
  using table::look, table::unpin;

  /// @param fetched the pages as `serve_faults` fetches them
  template <class Pages>
  GNSTOR_HD served_pages(const served_store& store, const Pages& fetched)
      : table(fetched), store_(store), frames_memory_(fetched.data(frame_index(0))) {}

  GNSTOR_HD const served_store& store() const { return store_; }

  /// The bytes of a frame.
  GNSTOR_HD unsigned char* data(frame_index f) const {
    return frames_memory_ + std::uint64_t{f.value} * store_.page_bytes();
  }

  /// Pins a page for its caller's group; has it fetched if it is absent.
  /// @par Callers one lane for its group; `page` < pages()
  /// @par Order acquires the page's bytes; other lanes of the group need `g.sync()`
  /// @par Bound `d`
  /// @par Errors the store's status if the fetch fails; not_ready if nobody serves faults;
  /// no_memory if no frame came free, timed_out if the fetch took too long. Nothing is pinned then,
  /// and nothing waits in the ring for this lane
  GNSTOR_HD result<frame_index> pin(page_index page, page_use use, deadline d) const {
    page_word seen;
    const bool referred = refer(page, seen);
    if (referred && seen.usable()) return used(page, seen, use);
    return pin_absent(page, referred, seen, use, d);
  }

  /// Calls `body(bytes)` with the bytes of `page` while it is pinned.
  /// @par Callers any lanes, converged or not; each with a page of its own, also of another array
  /// @par Bound `timeout_ns`
  /// @par Errors as `pin`; `body` is not called then
  template <class Body>
  GNSTOR_HD status visit(page_index page, page_use use, std::uint64_t timeout_ns,
                         const Body& body) const {
    return detail::visit_pinned(*this, page, use, timeout_ns, body);
  }
  /// The same in the lanes of `g` that want it. All missing pages are handed over before one is
  /// waited for, and a lane uses its page, and lets it go, as soon as it is there.
  /// @par Callers every lane of `g`, converged, for the same use; each with a page of its own
  /// @par Bound `timeout_ns`
  /// @par Errors as `pin`, each lane its own; `body` is not called then
  template <simt::warp_group G, class Body>
  GNSTOR_HD status visit(const G& g, page_index page, page_use use, bool wants,
                         std::uint64_t timeout_ns, const Body& body) const {
    constexpr std::uint64_t nobody = ~std::uint64_t{0};
    const int leader = cuda::std::countr_zero(
        static_cast<std::uint32_t>(g.match_any(wants ? std::uint64_t{page.value} : nobody)));
    bool leads = wants && leader == static_cast<int>(g.thread_rank());
    wait w;
    bool referred = leads && refer(page, w.seen);
    if (referred && w.seen.is(page_word::busy)) count(state_->counters.waits);
    bool done = !wants;
    status outcome;
    for (until more{simt::within(timeout_ns)}; g.any(static_cast<bool>(more));) {
      if (leads && !referred) referred = refer(page, w.seen);
      const std::uint64_t answer = leads && referred ? answer_to(page, use, w) : 0;
      const std::uint64_t mine = g.shfl(answer, leader);
      g.sync();  // the leader's acquire of the page reaches the lanes that touch it
      if (!done && mine != 0) {
        outcome = finish(mine, use, body);
        done = true;
      }
      g.sync();  // all lanes are done before the leader lets the page go
      if (answer != 0) {
        unpin(page);
        leads = false;
      }
      if (g.all(done)) return outcome;
      if (leads && referred) w.seen = look(page);
    }
    if (leads && referred) unpin(page);
    w.starved = w.starved || (leads && !referred);
    const bool starved = g.shfl(static_cast<std::uint32_t>(w.starved), leader) != 0;
    return done ? outcome : too_late(starved);
  }
  /// Pins `page` for all lanes of `g`, until one `unpin`.
  /// @par Callers every lane of `g`, converged, with the same arguments
  /// @par Order acquires the page's bytes for every lane
  /// @par Bound, Errors as `visit`
  template <simt::warp_group G>
  GNSTOR_HD result<frame_index> hold(const G& g, page_index page, page_use use,
                                     std::uint64_t timeout_ns) const {
    return detail::hold_pinned(g, *this, page, use, timeout_ns);
  }

  /// Has a page fetched that is absent, and does not wait for it.
  /// @par Callers any lane
  GNSTOR_HD void prefetch(page_index page) const {
    page_word seen = look(page);
    if (!is_absent(seen) || !store_.faults().is_served() || !store_.faults().has_room(page)) return;
    if (!refer(page, seen)) return;
    if (is_absent(seen) && claim(page, seen)) store_.faults().push({page, page_use::read});
    unpin(page);
  }

 private:
  using table::abandon, table::claim, table::count, table::refer, table::used, table::state_;

  GNSTOR_HD static bool is_absent(page_word seen) {
    return !seen.is(page_word::resident | page_word::busy | page_word::failed);
  }

  /// What a lane knows of a page that it waits for and has a reference of.
  struct wait {
    page_word seen;
    bool handed = false;
    bool starved = false;  ///< a page that was handed over came back without a frame
  };
  static constexpr std::uint64_t there = std::uint64_t{1} << 62;  ///< beside a frame

  /// Hands a page over that is absent, as far as there is room. Who makes it busy does.
  /// @par Errors there is nothing to wait for: the page's status; not_ready
  GNSTOR_HD status ask_for(page_index page, page_use use, wait& w) const {
    if (w.seen.is(page_word::failed)) return w.seen.why();
    if (!is_absent(w.seen)) return status{};
    if (!store_.faults().is_served()) return status::make(status_code::not_ready, reporter::array);
    w.starved = w.starved || w.handed;
    // Room first: nothing stays busy that nobody knows of.
    if (store_.faults().has_room(page) && claim(page, w.seen)) {
      store_.faults().push({page, use});
      w.handed = true;
    }
    return status{};
  }
  GNSTOR_HD static status too_late(bool starved) {
    return status::make(starved ? status_code::no_memory : status_code::timed_out, reporter::array);
  }

  /// Waits for a page that is not there, and is referenced but where there was no room for that.
  GNSTOR_HD_SLOW result<frame_index> pin_absent(page_index page, bool referred, page_word seen,
                                                page_use use, deadline d) const {
    if (referred && seen.is(page_word::busy)) count(state_->counters.waits);
    wait w{seen};
    for (until more{d}; more;) {
      if (!referred) {
        referred = refer(page, w.seen);
        continue;
      }
      if (w.seen.usable()) return used(page, w.seen, use);
      const status s = ask_for(page, use, w);
      if (!s.ok()) return abandon(page, s);
      w.seen = look(page);
    }
    return referred ? abandon(page, too_late(w.starved)) : too_late(true);
  }

  /// What has become of a page that a group's lane waits for: nothing yet, a frame and `there`, or
  /// a status and `failed_access`.
  GNSTOR_HD std::uint64_t answer_to(page_index page, page_use use, wait& w) const {
    if (w.seen.usable()) return used(page, w.seen, use).value | there;
    const status s = ask_for(page, use, w);
    return s.ok() ? 0 : s.pack() | detail::failed_access;
  }
  template <class Body>
  GNSTOR_HD status finish(std::uint64_t answer, page_use use, const Body& body) const {
    if ((answer & detail::failed_access) != 0)
      return status::unpack(answer & ~detail::failed_access);
    // What is stored now is newer than the frame's pages before: see `page_table::is_still`.
    if (use != page_use::read) simt::fence<thread_scope_device>(acq_rel);
    body(data(frame_index(static_cast<std::uint32_t>(answer))));
    return status{};
  }

  served_store store_;
  unsigned char* frames_memory_;
};
template <class Pages>
served_pages(const served_store&, const Pages&) -> served_pages<typename Pages::words_type>;

}  // namespace gnstor::inline v0
