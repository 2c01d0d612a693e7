#pragma once

#include <gnstor/array/eviction.hpp>
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

/// The shared words of a page cache; page words, then frame words, follow in memory.
struct page_cache_state {
  alignas(128) std::uint64_t cursor;  ///< turns of the hand that looks for frames
  std::uint64_t cleaned;              ///< turns up to which pages were written back ahead of it
  std::uint64_t silent;           ///< SSDs that fell silent lately, by bit: others are asked first
  std::uint64_t silent_until_ns;  ///< `deadline::at_ns` of the time until when that counts
  alignas(128) page_cache_counters counters;
};
static_assert(std::is_trivially_copyable_v<page_cache_state>);

/// The words of an array's pages and frames, and what lanes may do to them (a reference, passed by
/// value). It moves no page: `page_cache` and `copied_pages` do.
class page_table {
 public:
  static constexpr std::uint64_t free_frame = 0;
  static constexpr std::uint64_t taken_frame = ~std::uint64_t{0};
  static constexpr std::uint64_t lost_frame = ~std::uint64_t{1};

  GNSTOR_HD static constexpr std::uint64_t bytes(std::uint32_t pages, std::uint32_t frames) {
    return sizeof(page_cache_state) + 8ull * pages + 8ull * frames;
  }

  /// @param memory zero-filled, `bytes(pages, frames)` long
  GNSTOR_HD page_table(void* memory, std::uint32_t pages, std::uint32_t frames,
                       eviction how = eviction::fifo)
      : state_(static_cast<page_cache_state*>(memory)),
        pages_(pages),
        frames_(frames),
        eviction_(how) {}

  GNSTOR_HD std::uint32_t pages() const { return pages_; }
  GNSTOR_HD std::uint32_t frames() const { return frames_; }
  GNSTOR_HD page_cache_counters& counters() const { return state_->counters; }

  /// The word of a page, for a read without a reference. `page` < pages().
  /// @par Order acquires the page's bytes where it is `usable`
  GNSTOR_HD page_word look(page_index page) const {
    return page_word{word_ref(page_words()[page.value]).load(acquire)};
  }
  /// True if what was read by acquire loads since `look` gave `seen` are bytes of that page.
  GNSTOR_HD bool is_still(page_index page, page_word seen) const {
    return page_word{word_ref(page_words()[page.value]).load(relaxed)}.unmoved_since(seen);
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
    const word_ref word = page_at(page);
    const page_word seen{word.load(acquire)};
    if (seen.is(page_word::failed)) word.fetch_sub(seen.bits & ~page_word::reference_mask, release);
    if (seen.is(page_word::write_failed)) word.fetch_sub(page_word::write_failed, release);
  }

  /// Whether nobody uses `page`.
  /// @par Callers any lane
  /// @par Errors would_block: the page is referenced, or on its way
  GNSTOR_HD status unused(page_index page) const {
    const page_word seen{page_at(page).load(acquire)};
    const bool idle = seen.references() == 0 && !seen.is(page_word::busy);
    return idle ? status{} : status::make(status_code::would_block, reporter::array);
  }
  /// Takes a clean page out of its frame, so that the next `pin` fetches what the store has now.
  /// @par Callers one lane, while no kernel uses the array
  /// @par Errors would_block: the page is referenced, on its way, or dirty; it stays then
  GNSTOR_HD status drop(page_index page) const {
    page_word seen{page_at(page).load(acquire)};
    const status s = unused(page);
    if (!s.ok() || !seen.is(page_word::resident)) return s;
    if (seen.is(page_word::dirty) || !claim(page, seen))
      return status::make(status_code::would_block, reporter::array);
    const frame_index f = seen.frame();
    // A frame that a request given up may still use is marked beside its page: it holds no other.
    const bool lost = frame_at(f).load(relaxed) != std::uint64_t{page.value} + 1;
    if (lost) count(state_->counters.lost_frames);
    count(state_->counters.dropped);
    take_away(page, f, seen);
    frame_at(f).store(lost ? lost_frame : free_frame, release);
    return s;
  }

  /// Keeps `s` as the array's error unless it has one: for accesses that cannot return a status.
  /// @param where `page_cache_counters::first_error_at`
  GNSTOR_HD void keep(status s, std::uint64_t where) const {
    std::uint64_t none = 0;
    if (word_ref(state_->counters.first_error).compare_exchange(none, s.pack(), acq_rel))
      word_ref(state_->counters.first_error_at).store(where, relaxed);
  }

  /// Names a page among the pages of all arrays. Even.
  GNSTOR_HD std::uint64_t key(page_index page) const {
    return reinterpret_cast<std::uint64_t>(page_words() + page.value);
  }

 protected:
  using word_ref = atomic_ref<std::uint64_t, thread_scope_device>;

  GNSTOR_HD std::uint64_t* page_words() const {
    return reinterpret_cast<std::uint64_t*>(state_ + 1);
  }
  GNSTOR_HD word_ref page_at(page_index p) const {
    GNSTOR_VERIFY(p.value < pages_);
    return word_ref(page_words()[p.value]);
  }
  GNSTOR_HD word_ref frame_at(frame_index f) const {
    return word_ref(page_words()[std::uint64_t{pages_} + f.value]);
  }
  GNSTOR_HD static void count(std::uint64_t& counter) { word_ref(counter).fetch_add(1, relaxed); }

  /// Adds a reference; the page as it is then.
  GNSTOR_HD page_word refer(page_index page) const {
    return page_word{page_at(page).fetch_add(page_word::reference, acquire) + page_word::reference};
  }
  /// Marks a page that is there and referenced as it is used.
  GNSTOR_HD frame_index used(page_index page, page_word seen, page_use use) const {
    const std::uint64_t marks =
        page_word::accessed | (use != page_use::read ? page_word::dirty : 0);
    if ((seen.bits & marks) != marks) page_at(page).fetch_or(marks, relaxed);
    return seen.frame();
  }
  /// Makes a page busy that was `seen` and is not; false, with the page as it is, if it changed.
  GNSTOR_HD bool claim(page_index page, page_word& seen) const {
    return page_at(page).compare_exchange(seen.bits, seen.bits | page_word::busy, acquire);
  }
  /// Lets a page go that the caller made busy, as it was.
  GNSTOR_HD void unclaim(page_index page) const {
    page_at(page).fetch_sub(page_word::busy, release);
  }
  /// A page that was made busy for the caller lies in frame `f`.
  /// @param named what the page's word says of its frame before
  GNSTOR_HD void publish(page_index page, frame_index f, std::uint64_t named = 0) const {
    count(state_->counters.pages_in);
    frame_at(f).store(std::uint64_t{page.value} + 1, relaxed);
    // Paired with the acquire in `pin`: the page's bytes, and the frame's owner, are in place.
    const page_word before{page_at(page).fetch_add(
        page_word::resident + page_word::accessed - page_word::busy + page_word::at(f) - named,
        release)};
    if (before.version() != 0) count(state_->counters.refetches);
  }
  /// Claims a page that lies in `f`, that nobody pins, for its frame.
  /// @param spare leave it if it was accessed since it was left last
  GNSTOR_HD bool claim_unpinned(page_index page, frame_index f, page_word& seen, bool spare) const {
    const word_ref word = page_at(page);
    seen.bits = word.load(relaxed);
    if (!seen.usable() || seen.references() != 0 || !(seen.frame() == f)) return false;
    if (seen.is(page_word::write_failed)) return false;
    if (spare && eviction_ != eviction::fifo && seen.is(page_word::accessed)) {
      // Only of the page that was seen: its word may be another frame's, or nobody's, by now.
      word.compare_exchange(seen.bits, seen.bits & ~page_word::accessed, relaxed);
      return false;
    }
    // Paired with the release in `unpin`.
    return word.compare_exchange(seen.bits, seen.bits | page_word::busy, acquire);
  }
  /// Drops the reference of who does not get the page, because of `why`.
  GNSTOR_HD status abandon(page_index page, status why) const {
    page_at(page).fetch_sub(page_word::reference, release);
    return why;
  }
  /// Takes frame `f` from the page of `claim_unpinned`, which ends its claim.
  GNSTOR_HD void take_away(page_index page, frame_index f, page_word seen) const {
    count(state_->counters.evictions);
    const std::uint64_t flags = page_word::busy | page_word::resident |
                                (seen.bits & (page_word::dirty | page_word::accessed));
    const std::uint64_t older = seen.version() - seen.next_version();
    page_at(page).fetch_sub(flags + page_word::at(f) + older, release);
  }
  /// A hand's next frame.
  /// @param look how many the caller has looked at before: from `choosy_looks` on it is any frame's
  /// turn
  GNSTOR_HD frame_index next_frame(std::uint32_t look) const {
    const std::uint64_t turn = word_ref(state_->cursor).fetch_add(1, relaxed);
    const eviction how = look < choosy_looks() ? eviction_ : eviction::fifo;
    return frame_index(detail::frame_of_turn(how, turn, frames_));
  }
  /// How many frames who needs one looks at for the best; then whatever is not pinned will do.
  GNSTOR_HD std::uint32_t choosy_looks() const {
    if (eviction_ == eviction::fifo) return 0;
    return frames_ < 24 ? frames_ : 24;
  }

  /// Frames ahead of the hand that are kept clean where somebody cleans: the low-water mark.
  GNSTOR_HD std::uint32_t clean_frames() const { return frames_ / 8 == 0 ? 1 : frames_ / 8; }
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
      const std::uint64_t turn = word_ref(state_->cursor).load(relaxed);
      std::uint64_t seen = word_ref(state_->cleaned).load(relaxed);
      first = seen > turn ? seen : turn;
      // Others may have gone on meanwhile, from a later turn of the hand.
      const std::uint64_t until = turn + clean_frames();
      const std::uint64_t due = first < until ? until - first : 0;
      share = due < g.size() ? static_cast<std::uint32_t>(due) : g.size();
      // A few at once: the words above are busy.
      if (share * 2 < clean_frames() && share < g.size()) share = 0;
      if (share != 0 && !word_ref(state_->cleaned).compare_exchange(seen, first + share, relaxed))
        share = 0;
    }
    share = g.shfl(share, 0);
    first = g.shfl(first, 0);
    if (share == 0) return false;
    wants = false;
    if (g.thread_rank() < share) {
      const frame_index f(detail::frame_of_turn(eviction_, first + g.thread_rank(), frames_));
      const std::uint64_t owner = frame_at(f).load(relaxed);
      if (owner != free_frame && owner <= pages_) {
        page = page_index(static_cast<std::uint32_t>(owner - 1));
        const page_word seen{page_at(page).load(relaxed)};
        wants = seen.is(page_word::dirty) && !seen.is(page_word::write_failed);
      }
    }
    return true;
  }

  page_cache_state* state_;
  std::uint32_t pages_;
  std::uint32_t frames_;
  eviction eviction_;
};

}  // namespace gnstor::inline v0
