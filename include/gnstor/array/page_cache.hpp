#pragma once

#include <gnstor/array/page_fault.hpp>
#include <gnstor/array/page_store.hpp>
#include <gnstor/array/page_table.hpp>
#include <gnstor/array/pinned_access.hpp>
#include <gnstor/array/silent_ssds.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/io/outcome.hpp>
#include <gnstor/io/replica_set.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/simt/single_lane.hpp>

#include <cuda/std/bit>

#include <type_traits>

namespace gnstor::inline v0 {

/// Demand paging between a page store and a ring of frames (a reference, passed by value).
///
/// A page is pinned while lanes write it or hold it; the frame of a pinned page is never taken.
/// Reads of a page that is there need no reference (`page_table::look`). Frames are taken as
/// `eviction` says from pages nobody pins; a dirty page is written back first, and stays resident
/// if that fails, until a flush succeeds: no write is ever dropped.
template <page_store Store>
class page_cache : public page_table<typename detail::words_of<Store>::type> {
  using table = page_table<typename detail::words_of<Store>::type>;

 public:
  using table::frames, table::keep, table::look, table::unpin;

  /// Bytes of the words of `frames`.
  GNSTOR_HD static constexpr std::uint64_t ring_bytes(std::uint32_t frames) {
    return frame_ring::bytes(frames);
  }

  /// @param memory zero-filled, `bytes(pages)` long
  /// @param frames_buffer registered memory of frames * page_bytes
  /// @param sharers all arrays that have these frames, by their numbers; null: this one alone
  GNSTOR_HD page_cache(const Store& store, void* memory, std::uint32_t pages,
                       const frame_ring& ring, const io_buffer& frames_buffer,
                       const frame_share& share = {}, const page_cache* sharers = nullptr)
      : table(memory, pages, ring, share),
        store_(store),
        buffer_(frames_buffer),
        sharers_(sharers) {}

  GNSTOR_HD const Store& store() const { return store_; }

  /// Pins a page for all lanes of `g` and returns its frame. One that is absent is fetched by one
  /// of them; where it is several commands, by all.
  /// @par Callers every lane of `g`, converged, with the same arguments; `page` < pages()
  /// @par Order acquires the page's bytes for the lane of rank 0; the others need `g.sync()`
  /// @par Bound `d`
  /// @par Errors the store's status if the fetch fails (then, and later, until `forgive`);
  /// no_memory if no frame came free, timed_out if another lane's fetch took too long. Nothing is
  /// pinned then
  template <simt::warp_group G>
  GNSTOR_HD result<frame_index> pin(const G& g, page_index page, page_use use, deadline d) const {
    page_word seen;
    bool referred = false;
    std::uint64_t found = 0;
    if (g.thread_rank() == 0) {
      referred = refer(page, seen);
      if (referred && seen.usable()) found = used(page, seen, use).value + 1ull;
    }
    found = g.shfl(found, 0);
    if (found != 0) return frame_index(static_cast<std::uint32_t>(found - 1));
    result<frame_index> outcome = frame_index{};
    if constexpr (group_page_store<Store>) {
      if (detail::fetched_by_all(store_))
        outcome = pin_absent(simt::group::of(g), page, referred, seen, use, d);
    }
    // By code for one lane: that of a group takes a fifth longer.
    if (!detail::fetched_by_all(store_) && g.thread_rank() == 0)
      outcome = pin_absent(simt::single_lane(), page, referred, seen, use, d);
    outcome.value = frame_index(g.shfl(outcome.value.value, 0));
    outcome.status = status::unpack(g.shfl(outcome.status.pack(), 0));
    return outcome;
  }

  /// Calls `body(bytes)` with the bytes of `page` while it is pinned.
  /// @par Callers any lanes, converged or not; each with a page of its own, also of another array
  /// @par Bound `timeout_ns`
  /// @par Errors as `pin`; `body` is not called then
  template <class Body>
  GNSTOR_HD status visit(page_index page, page_use why, std::uint64_t timeout_ns,
                         const Body& body) const {
    return detail::visit_pinned(*this, page, why, timeout_ns, body);
  }

  /// Pins `page` for all lanes of `g`, until one `unpin`.
  /// @par Callers every lane of `g`, converged, with the same arguments
  /// @par Order acquires the page's bytes for every lane
  /// @par Bound `timeout_ns`
  /// @par Errors as `pin`
  template <simt::warp_group G>
  GNSTOR_HD result<frame_index> hold(const G& g, page_index page, page_use use,
                                     std::uint64_t timeout_ns) const {
    return detail::hold_pinned(g, *this, page, use, timeout_ns);
  }

  /// Fetches pages that lanes `want`, each its own, which were made busy for them: who waits for
  /// one finds it there, or failed. A page for which no frame is free is let go as it was.
  /// Pages of several commands are fetched one after another, by all lanes.
  /// @par Callers every lane of `g`, converged
  /// @par Bound `d`, of pages of several commands as long for each: a silent SSD takes no other
  /// page's time; frames are looked at once
  template <simt::warp_group G>
  GNSTOR_HD void serve(const G& g, const page_fault& wanted, bool wants, deadline d) const {
    if constexpr (group_page_store<Store>) {
      if (store_.pages_are_long()) {
        const std::uint64_t now = simt::now_ns();
        const std::uint64_t each = d.expired(now) ? 1 : d.at_ns() - now;
        for (std::uint32_t left = g.ballot(wants); left != 0; left &= left - 1) {
          const auto k = static_cast<std::uint32_t>(cuda::std::countr_zero(left));
          (void)fault_together(simt::group::of(g), wanted, k, deadline::after(0, 1),
                               simt::within(each));
        }
        return;
      }
    }
    if (wants) (void)fault(wanted.page, wanted.use, deadline::after(0, 1), d);
    g.sync();
  }
  /// Gives frames to pages that lanes `want`, each its own, which were made busy for them and will
  /// be overwritten; one for which no frame is free is let go as it was.
  /// @par Callers, Bound as `serve`
  template <simt::warp_group G>
  GNSTOR_HD void begin(const G& g, page_index page, bool wants, deadline d) const {
    if (wants) (void)fault(page, page_use::overwrite, deadline::after(0, 1), d);
    g.sync();
  }

  /// Writes some pages back whose frames will be taken soon, if that is due.
  /// @par Callers every lane of `g`, converged
  /// @par Result false if there was nothing to do
  template <simt::warp_group G>
  GNSTOR_HD bool clean_ahead(const G& g, deadline d) const {
    page_index page{};
    bool wants = false;
    if (!take_dirty(g, page, wants)) return false;
    (void)flush(g, page, wants, d);
    g.sync();
    return true;
  }

  /// Writes dirty pages back that nobody pins: each lane that `wants` its own.
  /// @par Callers, Errors as of one lane
  template <simt::warp_group G>
  GNSTOR_HD status flush(const G&, page_index page, bool wants, deadline d) const {
    return wants ? flush(page, d) : status{};
  }
  /// Writes a dirty page back if nobody pins it.
  /// @par Callers one lane
  /// @par Errors would_block: the page is pinned or busy; the store's status: the page stays dirty
  GNSTOR_HD status flush(page_index page, deadline d) const {
    page_word seen = look(page);
    if (!seen.is(page_word::dirty)) return status{};
    const std::uint64_t idle = page_word::resident | page_word::dirty;
    if ((seen.bits & (idle | page_word::busy | page_word::reference_mask)) != idle ||
        !claim(page, seen)) {
      return status::make(status_code::would_block, reporter::array);
    }
    const status s = write_back(page, seen.frame(), d);
    if (s.ok()) {
      page_at(page).fetch_sub(
          page_word::busy + page_word::dirty + (seen.bits & page_word::write_failed), release);
    } else {
      unclaim_unwritten(page, seen);
    }
    return s;
  }

  /// Takes a frame back that was set aside, or that may hold no page but the one it has.
  /// @par Callers one lane, when nothing that was given up can use frames any more: its channel was
  /// reset
  GNSTOR_HD void take_back(frame_index f) const {
    const frame_word owner{frame_at(f).load(acquire)};
    if (owner.is(frame_word::lost)) {
      if (owner.array() != frame_word::no_array)
        word_ref(holder_of(owner).state_->counters.lost_frames).fetch_sub(1, relaxed);
      free(f);
    } else if (owner.is(frame_word::last_page)) {
      frame_at(f).fetch_sub(frame_word::last_page, release);
    }
  }

  /// The bytes of a frame.
  GNSTOR_HD unsigned char* data(frame_index f) const {
    return reinterpret_cast<unsigned char*>(buffer_.address) +
           std::uint64_t{f.value} * store_.page_bytes();
  }

 private:
  using table::claim, table::claim_unpinned, table::count, table::frame_at;
  using table::free, table::is_mine, table::may_grow, table::may_shrink, table::page_at;
  using table::publish, table::refer, table::set_aside, table::stays, table::take;
  using table::ring_, table::share_, table::state_;
  using table::take_away, table::take_dirty, table::take_free, table::used;
  using typename table::word_ref;

  /// The array whose page lies in a frame.
  GNSTOR_HD const page_cache& holder_of(frame_word w) const {
    return w.array() == share_.array ? *this : sharers_[w.array()];
  }

  GNSTOR_HD io_buffer buffer(frame_index f) const {
    return buffer_.slice(std::uint64_t{f.value} * store_.page_bytes(), store_.page_bytes());
  }

  GNSTOR_HD status remember(status s, page_index page) const {
    count(state_->counters.io_errors);
    keep(s, page.value);
    return s;
  }
  /// Waits for a page that is not there, and is referenced but where there was no room for that:
  /// fetches it, unless others do. The lane of rank 0 acts for all.
  template <class G>
  GNSTOR_HD_SLOW result<frame_index> pin_absent(const G g, page_index page, bool referred,
                                                page_word seen, page_use use, deadline d) const {
    constexpr bool by_all = std::is_same_v<G, simt::group>;
    const bool leads = g.thread_rank() == 0;
    if (leads && referred && seen.is(page_word::busy)) count(state_->counters.waits);
    result<frame_index> outcome = status::make(status_code::timed_out, reporter::array);
    bool ended = false;
    const auto settle = [&](bool anew) {
      if (anew) seen.bits = page_at(page).load(acquire);
      ended = seen.usable() || seen.is(page_word::failed);
      if (seen.usable()) outcome = used(page, seen, use);
      if (seen.is(page_word::failed)) outcome = seen.why();
    };
    bool is_new = referred;  // what was seen
    const auto claims = [&] {
      if (!referred && !(referred = is_new = refer(page, seen))) return false;
      settle(!is_new);
      is_new = false;
      return !ended && !seen.is(page_word::busy) && claim(page, seen);
    };
    for (until more{d}; g.any(leads && !ended && more);) {
      bool claimed = leads && claims();
      if constexpr (by_all)  // who waits for others does so alone
        for (until alone{d}; leads && !ended && !claimed && alone;) claimed = claims();
      if (!g.any(claimed)) continue;
      status s;
      if constexpr (by_all) s = fault_together(g, {page, use}, 0, d, d);
      if constexpr (!by_all) s = fault(page, use, d, d);
      if (claimed && s.ok()) settle(true);
      ended = ended || (claimed && !s.ok());
      if (claimed && !s.ok()) outcome = s;
    }
    if (!ended && !referred) outcome = status::make(status_code::no_memory, reporter::array);
    if (leads && referred && !outcome) unpin(page);
    return outcome;
  }
  /// Fetches a page that was made busy for the caller, unless it will be overwritten.
  /// @param frame_by until when to look for a frame
  GNSTOR_HD status fault(page_index page, page_use use, deadline frame_by, deadline d) const {
    result<frame_index> frame = take_frame(page, frame_by, d);
    status s;
    if (frame && use != page_use::overwrite) {
      const bool wary = silent().any();
      if (!wary) s = store_.fetch(page, buffer(frame.value), d);
      if (wary || s.code == status_code::buffer_in_use)
        s = fetch_from_others(page, frame, s, frame_by, d);
    }
    return end_fault(page, use, frame, s);
  }
  /// The same of a page that was made busy for lane `leader` of `g`, by all lanes; that lane has
  /// the outcome.
  GNSTOR_HD status fault_together(const simt::group& g, const page_fault& wanted,
                                  std::uint32_t leader, deadline frame_by, deadline d) const {
    const int k = static_cast<int>(leader);
    const bool leads = g.thread_rank() == leader;
    const page_index page(g.shfl(wanted.page.value, k));
    result<frame_index> frame = status::make(status_code::no_memory, reporter::array);
    if (leads) frame = take_frame(page, frame_by, d);
    const bool fetches = leads && frame && wanted.use != page_use::overwrite;
    const bool wary = fetches && silent().any();
    const frame_index f(g.shfl(frame.value.value, k));
    status s;
    if (g.any(fetches && !wary)) s = store_.fetch_together(g, page, buffer(f), d);
    if (fetches && (wary || s.code == status_code::buffer_in_use))
      s = fetch_from_others(page, frame, s, frame_by, d);
    if (leads) s = end_fault(page, wanted.use, frame, s);
    g.sync();
    return s;
  }
  /// Ends the claim of a page that was fetched into `frame`, or could not be: `s`.
  GNSTOR_HD status end_fault(page_index page, page_use use, const result<frame_index>& frame,
                             status s) const {
    const word_ref word = page_at(page);
    if (!frame) {
      word.fetch_sub(page_word::busy, release);
      return frame.status;
    }
    if (!s.ok()) {
      if (s.left_behind()) {
        set_aside(frame.value);
      } else {
        free(frame.value);
      }
      // The reason takes the place of the version.
      const std::uint64_t gone = page_word::busy + page_word{word.load(relaxed)}.version();
      word.fetch_add(page_word::failure(remember(s, page)) - gone, release);
      return s;
    }
    if (use == page_use::overwrite) count(state_->counters.overwritten);
    publish(page, frame.value);
    return status{};
  }
  GNSTOR_HD detail::silent_ssds silent() const { return {state_->silent, state_->silent_until_ns}; }

  /// Fetches a page from others than SSDs that fell silent lately: each that is asked first may
  /// write the frame for good, and costs its share of the time. What lies in such a frame may
  /// change while it is copied, so the page is fetched again into another one.
  /// @param frame in: where to; out: the frame of the last attempt, or why there is none
  /// @param s what the attempt before said; ok: there was none
  GNSTOR_HD_SLOW status fetch_from_others(page_index page, result<frame_index>& frame, status s,
                                          deadline frame_by, deadline d) const {
    for (bounded tries{max_replicas + 1}; tries;) {
      if (s.code == status_code::buffer_in_use) {
        silent().remember(ssd_index(s.ssd));
        set_aside(frame.value);
        frame = take_frame(page, frame_by, d);
        if (!frame) break;
      }
      s = silent().avoided_by(store_).fetch(page, buffer(frame.value), d);
      if (s.code != status_code::buffer_in_use) break;
    }
    return s;
  }
  /// A frame for `page`: a free one, or one whose page nobody pins. All are looked at once at
  /// least.
  /// @param by until when to look @param d of write-backs
  GNSTOR_HD result<frame_index> take_frame(page_index page, deadline by, deadline d) const {
    for (until more{by}; more;) {
      const bool grows = may_grow();
      for (std::uint32_t k = 0; k < ring_.choosy_looks() + frames(); ++k) {
        const frame_index f = ring_.next(k);
        const frame_word owner{frame_at(f).load(relaxed)};
        bool mine = false;
        if (owner.is_free()) {
          mine = grows && take_free(f, page);
        } else if (owner.is(frame_word::holds)) {
          const page_cache& holder = holder_of(owner);
          mine = (is_mine(owner) || (grows && holder.may_shrink())) &&
                 holder.give_up(owner.page(), f, k < ring_.choosy_looks(), d);
          if (mine) take(f, page);
        }
        if (mine) return f;
      }
    }
    return status::make(status_code::no_memory, reporter::array);
  }

  /// Takes `page` out of frame `f`, which is the caller's then, if it still lies there and nobody
  /// pins it.
  GNSTOR_HD bool give_up(page_index page, frame_index f, bool spare, deadline d) const {
    page_word seen;
    if (!claim_unpinned(page, f, seen, spare)) return false;
    // Half of the time: one that hangs leaves the other half for another frame.
    const auto half = [d] { return detail::share_of(d, simt::now_ns(), 2); };
    if (seen.is(page_word::dirty) && !write_back(page, f, half()).ok()) {
      stays();
      unclaim_unwritten(page, seen);
      return false;
    }
    const bool usable = !frame_word{frame_at(f).load(relaxed)}.is(frame_word::last_page);
    if (usable) take(f, page);
    if (!usable) set_aside(f);
    take_away(page, f, seen);
    return usable;
  }

  /// Ends the claim of a page that stays, dirty, because it could not be written.
  GNSTOR_HD void unclaim_unwritten(page_index page, page_word claimed) const {
    const std::uint64_t mark = claimed.is(page_word::write_failed) ? 0 : page_word::write_failed;
    page_at(page).fetch_sub(page_word::busy - mark, release);
  }

  GNSTOR_HD_SLOW status write_back(page_index page, frame_index f, deadline d) const {
    const status s = store_.store(page, buffer(f), d);
    if (s.left_behind()) frame_at(f).fetch_or(frame_word::last_page, relaxed);
    if (!s.ok()) return remember(s, page);
    count(state_->counters.pages_out);
    return s;
  }

  Store store_;
  io_buffer buffer_;
  const page_cache* sharers_;
};

}  // namespace gnstor::inline v0
