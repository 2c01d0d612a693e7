#pragma once

#include <gnstor/array/dense_words.hpp>
#include <gnstor/array/frame_ring.hpp>
#include <gnstor/array/frame_word.hpp>
#include <gnstor/array/page_use.hpp>
#include <gnstor/array/page_word.hpp>
#include <gnstor/core/assert.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// What an array did so far. Relaxed counters, exact when no kernel runs.
struct page_cache_counters {
  std::uint64_t pages_in = 0;     ///< fetched, or begun without being fetched
  std::uint64_t pages_out = 0;    ///< written back
  std::uint64_t evictions = 0;    ///< frames taken from a resident page
  std::uint64_t io_errors = 0;    ///< fetches and write-backs that failed
  std::uint64_t lost_frames = 0;  ///< frames set aside: a request given up may still write them
  std::uint64_t first_error =
      0;  ///< `status::pack()` of the first error; sticky until the host clears it
  std::uint64_t first_error_at =
      0;                        ///< its page; the element's index where `out_of_range` by the array
  std::uint64_t refetches = 0;  ///< of `pages_in`, pages that had lost a frame before
  std::uint64_t overwritten = 0;  ///< of `pages_in`, pages begun without being fetched
  std::uint64_t waits = 0;        ///< lanes, each for its group, that found their page on its way
  std::uint64_t dropped = 0;      ///< of `evictions`, pages dropped because the host wrote them
};

/// The shared words of an array's pages; the words of the pages follow in memory.
struct page_cache_state {
  alignas(128) std::uint64_t cleaned;  ///< turns of the hand up to which pages were written back
                                       ///< ahead of it
  std::uint64_t silent;           ///< SSDs that fell silent lately, by bit: others are asked first
  std::uint64_t silent_until_ns;  ///< `deadline::at_ns` of the time until when that counts
  alignas(128) page_cache_counters counters;
};
static_assert(std::is_trivially_copyable_v<page_cache_state>);

/// The words of an array's pages, those of the frames that they lie in, and what lanes may do to
/// them (a reference, passed by value). It moves no page: `page_cache` and `copied_pages` do.
/// @tparam Words where the words of pages are: `dense_words` or `hashed_words`
template <class Words>
class page_table {
 public:
  using words_type = Words;
  using sight = typename Words::sight;

  GNSTOR_HD static constexpr std::uint64_t bytes(std::uint32_t pages, std::uint32_t frames) {
    return sizeof(page_cache_state) + Words::bytes(pages, frames);
  }

  /// Page words behind the state: each a page's, or nobody's.
  GNSTOR_HD static constexpr std::uint64_t places(std::uint32_t pages, std::uint32_t frames) {
    return Words::places(pages, frames);
  }

  /// @param memory zero-filled, `bytes(pages, frames)` long, aligned to 128 bytes
  GNSTOR_HD page_table(void* memory, std::uint32_t pages, const frame_ring& ring,
                       const frame_share& share)
      : state_(static_cast<page_cache_state*>(memory)),
        words_(state_ + 1, pages, ring.frames()),
        pages_(pages),
        ring_(ring),
        share_(share) {}

  GNSTOR_HD std::uint32_t pages() const { return pages_; }
  /// Frames that the pages may lie in, other arrays' among them.
  GNSTOR_HD std::uint32_t frames() const { return ring_.frames(); }
  GNSTOR_HD page_cache_counters& counters() const { return state_->counters; }
  /// Where the words of pages are.
  GNSTOR_HD const Words& words() const { return words_; }

  /// The word of a page, for a read without a reference. `page` < pages().
  /// @par Order acquires the page's bytes where it is `usable`
  GNSTOR_HD sight look(page_index page) const { return words_.look(page); }
  /// True if what was read by acquire loads since `look` gave `seen` are bytes of that page.
  GNSTOR_HD bool is_still(page_index page, const sight& seen) const {
    return words_.again(page, seen).unmoved_since(seen);
  }
  /// Lanes of `g` that have the same page for the same use, also among those of other arrays.
  /// @par Callers every lane of `g`, converged
  GNSTOR_HD simt::group alike(const simt::group& g, page_index page, page_use use) const {
    return words_.alike(g, page, use);
  }

  /// Ends one `pin`.
  /// @par Order releases the group's accesses to the page (after `g.sync()`) to whoever evicts it
  GNSTOR_HD void unpin(page_index page) const {
    // Paired with the acquire of whoever takes the frame.
    const std::uint64_t before = page_at(page).fetch_sub(page_word::reference, release);
    GNSTOR_VERIFY((before & page_word::reference_mask) != 0);
  }

  /// Lets the next `pin` try again to fetch a page whose fetch failed, and whoever needs its frame
  /// to write one back whose write-back failed.
  /// @par Callers one lane, while nobody else uses the page
  GNSTOR_HD void forgive(page_index page) const {
    std::uint64_t* const found = words_.find(page);
    if (Words::is_none(found)) return;
    const word_ref word(*found);
    const page_word seen{word.load(acquire)};
    if (seen.is(page_word::failed)) word.fetch_sub(seen.bits & ~page_word::reference_mask, release);
    if (seen.is(page_word::write_failed)) word.fetch_sub(page_word::write_failed, release);
  }

  /// Whether nobody uses `page`.
  /// @par Callers any lane
  /// @par Errors would_block: the page is referenced, or on its way
  GNSTOR_HD status unused(page_index page) const {
    const page_word seen = look(page);
    const bool idle = seen.references() == 0 && !seen.is(page_word::busy);
    return idle ? status{} : status::make(status_code::would_block, reporter::array);
  }
  /// Takes a clean page out of its frame, so that the next `pin` fetches what the store has now.
  /// @par Callers one lane, while no kernel uses the array
  /// @par Errors would_block: the page is referenced, on its way, or dirty; it stays then
  GNSTOR_HD status drop(page_index page) const {
    page_word seen = look(page);
    const status s = unused(page);
    if (!s.ok() || !seen.is(page_word::resident)) return s;
    if (seen.is(page_word::dirty) || !claim(page, seen))
      return status::make(status_code::would_block, reporter::array);
    count(state_->counters.evictions);
    const frame_index f = seen.frame();
    // A frame that a request given up may still use is marked beside its page: it holds no other.
    const bool lost = frame_word{frame_at(f).load(relaxed)}.is(frame_word::last_page);
    count(state_->counters.dropped);
    take_away(page, f, seen);
    if (lost) {
      set_aside(f);
    } else {
      free(f);
    }
    return s;
  }

  /// Keeps `s` as the array's error unless it has one: for accesses that cannot return a status.
  /// @param where `page_cache_counters::first_error_at`
  GNSTOR_HD void keep(status s, std::uint64_t where) const {
    std::uint64_t none = 0;
    if (word_ref(state_->counters.first_error).compare_exchange(none, s.pack(), acq_rel))
      word_ref(state_->counters.first_error_at).store(where, relaxed);
  }

 protected:
  using word_ref = frame_ring::word_ref;

  /// The word of a page that the caller has a reference of, or made busy.
  GNSTOR_HD word_ref page_at(page_index p) const { return words_.at(p); }
  GNSTOR_HD word_ref frame_at(frame_index f) const { return ring_.at(f); }
  GNSTOR_HD static void count(std::uint64_t& counter) { word_ref(counter).fetch_add(1, relaxed); }

  /// Adds a reference; the page as it is then.
  /// @par Result false, and there is none, if that cannot be now: try again, by a deadline
  GNSTOR_HD bool refer(page_index page, page_word& seen) const { return words_.refer(page, seen); }
  /// Marks a page that is there and referenced as it is used.
  GNSTOR_HD frame_index used(page_index page, page_word seen, page_use use) const {
    const std::uint64_t marks =
        page_word::accessed | (use != page_use::read ? page_word::dirty : 0);
    if ((seen.bits & marks) != marks) page_at(page).fetch_or(marks, relaxed);
    return seen.frame();
  }
  /// Makes a page busy that was `seen` and is not; false if it changed.
  GNSTOR_HD bool claim(page_index page, page_word& seen) const {
    std::uint64_t* const found = words_.find(page);
    return !Words::is_none(found) && claim_at(found, page, seen);
  }
  /// The same by the word that was found for the page.
  GNSTOR_HD bool claim_at(std::uint64_t* found, page_index page, page_word& seen) const {
    const word_ref word(*found);
    // Paired with the release in `unpin`.
    if (!word.compare_exchange(seen.bits, seen.bits | page_word::busy, acquire)) return false;
    if (words_.is_of(page, found)) return true;
    word.fetch_sub(page_word::busy, release);
    return false;
  }
  /// Lets a page go that the caller made busy, as it was.
  GNSTOR_HD void unclaim(page_index page) const {
    page_at(page).fetch_sub(page_word::busy, release);
  }
  /// A page that was made busy for the caller lies in frame `f`.
  /// @param named what the page's word says of its frame before
  GNSTOR_HD void publish(page_index page, frame_index f, std::uint64_t named = 0) const {
    count(state_->counters.pages_in);
    frame_at(f).store(frame_word::of(frame_word::holds, share_.array, page).bits, relaxed);
    // Paired with the acquire in `pin`: the page's bytes, and the frame's owner, are in place.
    const page_word before{page_at(page).fetch_add(
        page_word::resident + page_word::accessed - page_word::busy + page_word::at(f) - named,
        release)};
    if (Words::remembers && before.version() != 0) count(state_->counters.refetches);
  }
  /// Claims a page that lies in `f`, that nobody pins, for its frame: an eviction, unless the page
  /// is let go by `stays`.
  /// @param spare leave it if it was accessed since it was left last
  GNSTOR_HD bool claim_unpinned(page_index page, frame_index f, page_word& seen, bool spare) const {
    std::uint64_t* const found = words_.find(page);
    if (Words::is_none(found)) return false;
    const word_ref word(*found);
    seen.bits = word.load(relaxed);
    if (!seen.usable() || seen.references() != 0 || !(seen.frame() == f)) return false;
    if (seen.is(page_word::write_failed)) return false;
    if (spare && ring_.how() != eviction::fifo && seen.is(page_word::accessed)) {
      // Only of the page that was seen: its word may be another frame's, or nobody's, by now.
      word.compare_exchange(seen.bits, seen.bits & ~page_word::accessed, relaxed);
      return false;
    }
    if (!claim_at(found, page, seen)) return false;
    // From here on, as others look at what the array holds while the page is written back.
    count(state_->counters.evictions);
    return true;
  }
  /// Drops the reference of who does not get the page, because of `why`.
  GNSTOR_HD status abandon(page_index page, status why) const {
    page_at(page).fetch_sub(page_word::reference, release);
    return why;
  }
  /// A page of `claim_unpinned` stays where it is.
  GNSTOR_HD void stays() const { word_ref(state_->counters.evictions).fetch_sub(1, relaxed); }
  /// Takes frame `f` from a claimed page, which ends its claim.
  GNSTOR_HD void take_away(page_index page, frame_index f, page_word seen) const {
    const std::uint64_t flags = page_word::busy | page_word::resident |
                                (seen.bits & (page_word::dirty | page_word::accessed));
    const std::uint64_t older = seen.version() - seen.next_version();
    page_at(page).fetch_sub(flags + page_word::at(f) + older, release);
  }
  /// True if a page of this array lies in the frame.
  GNSTOR_HD bool is_mine(frame_word w) const {
    return w.is(frame_word::holds) && w.array() == share_.array;
  }
  /// Marks a frame as taken for `page`, which the caller made busy.
  GNSTOR_HD void take(frame_index f, page_index page) const {
    frame_at(f).store(frame_word::of(frame_word::taken, share_.array, page).bits, relaxed);
  }
  /// The same of a frame that was free; false if somebody else was faster.
  GNSTOR_HD bool take_free(frame_index f, page_index page) const {
    std::uint64_t none = 0;
    const frame_word mine = frame_word::of(frame_word::taken, share_.array, page);
    return frame_at(f).compare_exchange(none, mine.bits, acquire);
  }
  GNSTOR_HD void free(frame_index f) const { frame_at(f).store(0, release); }
  /// Takes a frame out of use for good: a request given up may still read or write it.
  GNSTOR_HD void set_aside(frame_index f) const {
    count(state_->counters.lost_frames);
    frame_at(f).store(frame_word::of(frame_word::lost, share_.array).bits, release);
  }

  /// Frames that the array's pages lie in.
  GNSTOR_HD std::uint64_t held() const {
    const std::uint64_t out = word_ref(state_->counters.evictions).load(relaxed);
    const std::uint64_t in = word_ref(state_->counters.pages_in).load(relaxed);
    return in > out ? in - out : 0;
  }
  GNSTOR_HD bool may_grow() const {
    return share_.most == frame_share{}.most || held() < share_.most;
  }
  GNSTOR_HD bool may_shrink() const { return share_.least == 0 || held() > share_.least; }

  /// A frame ahead of the hand for each lane of `g`, whose page is to be written back if it is
  /// dirty. No frame is given out twice in a round.
  /// @par Callers every lane of `g`, converged
  /// @par Result the page in the lane's frame, if `wants` is true then; false for all lanes if
  /// enough frames are clean
  template <class G>
  GNSTOR_HD bool take_dirty(const G& g, page_index& page, bool& wants) const {
    std::uint64_t first = 0;
    std::uint32_t share = 0;
    if (g.thread_rank() == 0) {
      const std::uint64_t turn = ring_.turn();
      std::uint64_t seen = word_ref(state_->cleaned).load(relaxed);
      first = seen > turn ? seen : turn;
      // Others may have gone on meanwhile, from a later turn of the hand.
      const std::uint64_t until = turn + ring_.clean_frames();
      const std::uint64_t due = first < until ? until - first : 0;
      share = due < g.size() ? static_cast<std::uint32_t>(due) : g.size();
      // A few at once: the words above are busy.
      if (share * 2 < ring_.clean_frames() && share < g.size()) share = 0;
      if (share != 0 && !word_ref(state_->cleaned).compare_exchange(seen, first + share, relaxed))
        share = 0;
    }
    share = g.shfl(share, 0);
    first = g.shfl(first, 0);
    if (share == 0) return false;
    wants = false;
    if (g.thread_rank() < share) {
      const frame_word owner{frame_at(ring_.of_turn(first + g.thread_rank())).load(relaxed)};
      if (is_mine(owner) && !owner.is(frame_word::last_page)) {
        page = owner.page();
        const page_word seen = look(page);
        wants = seen.is(page_word::dirty) && !seen.is(page_word::write_failed);
      }
    }
    return true;
  }

  page_cache_state* state_;
  Words words_;
  std::uint32_t pages_;
  frame_ring ring_;
  frame_share share_;
};

}  // namespace gnstor::inline v0

namespace gnstor::detail {

/// Where the words of a store's pages are: in a row, unless the store says otherwise.
template <class Store>
struct words_of {
  using type = dense_words;
};
template <class Store>
  requires requires { typename Store::words_type; }
struct words_of<Store> {
  using type = typename Store::words_type;
};

}  // namespace gnstor::detail
