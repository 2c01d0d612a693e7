#pragma once

#include <gnstor/array/fault_ring.hpp>
#include <gnstor/array/page_table.hpp>
#include <gnstor/array/pinned_access.hpp>
#include <gnstor/array/served_store.hpp>
#include <gnstor/core/bounded.hpp>

namespace gnstor::inline v0 {

/// Pages that other warps fetch (a reference, passed by value): a lane that misses one says so by a
/// `fault_ring` and waits, and `serve_faults` does the rest.
///
/// The same words as `page_cache` or `copied_pages`, whose pages these are; lanes of both may use
/// them at once. A kernel carries no I/O code, and so few registers.
class served_pages : public page_table {
 public:
  /// @param fetched the pages as `serve_faults` fetches them
  template <class Pages>
  GNSTOR_HD served_pages(const served_store& store, const Pages& fetched)
      : page_table(fetched), store_(store), frames_memory_(fetched.data(frame_index(0))) {}

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
    const page_word seen = refer(page);
    if (seen.usable()) return used(page, seen, use);
    return pin_absent(page, seen, use, d);
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
    if (claim(page, seen)) store_.faults().push({page, page_use::read});
  }

 private:
  GNSTOR_HD static bool is_absent(page_word seen) {
    return !seen.is(page_word::resident | page_word::busy | page_word::failed);
  }

  /// Waits for a page that is referenced and not there. Who makes it busy hands it over.
  GNSTOR_HD_SLOW result<frame_index> pin_absent(page_index page, page_word seen, page_use use,
                                                deadline d) const {
    if (seen.is(page_word::busy)) count(state_->counters.waits);
    bool starved = false;  // a page that was handed over came back without a frame
    bool handed = false;
    for (until more{d}; more;) {
      if (seen.usable()) return used(page, seen, use);
      if (seen.is(page_word::failed)) return abandon(page, seen.why());
      if (is_absent(seen)) {
        if (!store_.faults().is_served())
          return abandon(page, status::make(status_code::not_ready, reporter::array));
        starved = starved || handed;
        // Room first: nothing stays busy that nobody knows of.
        if (store_.faults().has_room(page) && claim(page, seen)) {
          store_.faults().push({page, use});
          handed = true;
        }
      }
      seen = look(page);
    }
    return abandon(page, status::make(starved ? status_code::no_memory : status_code::timed_out,
                                      reporter::array));
  }

  served_store store_;
  unsigned char* frames_memory_;
};

}  // namespace gnstor::inline v0
