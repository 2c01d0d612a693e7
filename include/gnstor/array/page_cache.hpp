#pragma once

#include <gnstor/array/page_store.hpp>
#include <gnstor/array/page_use.hpp>
#include <gnstor/array/page_word.hpp>
#include <gnstor/core/assert.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/io/replica_set.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/clock.hpp>

#include <cuda/std/bit>

#include <type_traits>

namespace gnstor::inline v0 {

/// What an array did so far. Relaxed counters, exact when no kernel runs.
struct page_cache_counters {
  std::uint64_t pages_in = 0;   ///< fetched
  std::uint64_t pages_out = 0;  ///< written back
  std::uint64_t evictions = 0;  ///< frames taken from a resident page
  std::uint64_t io_errors = 0;  ///< fetches and write-backs that failed
  std::uint64_t lost_frames =
      0;  ///< frames set aside because a request given up may still write them
  std::uint64_t first_error =
      0;  ///< `status::pack()` of the first error; sticky until the host clears it
  std::uint64_t first_error_at =
      0;  ///< its page; the element's index where `out_of_range` by the array
};

/// The shared words of a page cache; page words, then frame words, follow in memory.
struct page_cache_state {
  alignas(128) std::uint64_t cursor;  ///< the FIFO hand over the frames
  std::uint64_t silent;           ///< SSDs that fell silent lately, by bit: others are asked first
  std::uint64_t silent_until_ns;  ///< `deadline::at_ns` of the time until when that counts
  alignas(128) page_cache_counters counters;
};
static_assert(std::is_trivially_copyable_v<page_cache_state>);

/// Demand paging between a page store and a ring of frames (a reference, passed by value).
///
/// A page is pinned while lanes use it; the frame of a pinned page is never taken. Frames are taken
/// in FIFO order from pages nobody pins; a dirty page is written back first, and stays resident if
/// that fails: no write is ever dropped.
template <page_store Store>
class page_cache {
 public:
  static constexpr std::uint64_t free_frame = 0;
  static constexpr std::uint64_t taken_frame = ~std::uint64_t{0};
  static constexpr std::uint64_t lost_frame = ~std::uint64_t{1};

  GNSTOR_HD static constexpr std::uint64_t bytes(std::uint32_t pages, std::uint32_t frames) {
    return sizeof(page_cache_state) + 8ull * pages + 8ull * frames;
  }

  /// @param memory zero-filled, `bytes(pages, frames)` long
  /// @param frames_buffer registered memory of frames * page_bytes
  GNSTOR_HD page_cache(const Store& store, void* memory, std::uint32_t pages, std::uint32_t frames,
                       const io_buffer& frames_buffer)
      : store_(store),
        state_(static_cast<page_cache_state*>(memory)),
        pages_(pages),
        frames_(frames),
        buffer_(frames_buffer) {}

  GNSTOR_HD std::uint32_t pages() const { return pages_; }
  GNSTOR_HD std::uint32_t frames() const { return frames_; }
  GNSTOR_HD const Store& store() const { return store_; }
  GNSTOR_HD page_cache_counters& counters() const { return state_->counters; }

  /// Pins a page for its caller's group and returns its frame; fetches it if it is absent.
  /// @par Callers one lane for its group; `page` < pages()
  /// @par Order acquires the page's bytes; other lanes of the group need `g.sync()`
  /// @par Bound `d`
  /// @par Errors the store's status if the fetch fails (then, and later, until `forgive`);
  /// no_memory if no frame came free, timed_out if another lane's fetch took too long. Nothing is
  /// pinned then
  GNSTOR_HD result<frame_index> pin(page_index page, page_use use, deadline d) const {
    const page_word seen{page_at(page).fetch_add(page_word::reference, acquire) +
                         page_word::reference};
    if (seen.usable()) return used(page, seen, use);
    return pin_absent(page, seen, use, d);
  }

  /// Ends one `pin`.
  /// @par Order releases the group's accesses to the page (after `g.sync()`) to whoever evicts it
  GNSTOR_HD void unpin(page_index page) const {
    // Paired with the acquire in `take_from`.
    const std::uint64_t before = page_at(page).fetch_sub(page_word::reference, release);
    GNSTOR_VERIFY((before & page_word::reference_mask) != 0);
  }

  /// Writes a dirty page back if nobody pins it.
  /// @par Callers one lane
  /// @par Errors would_block: the page is pinned or busy; the store's status: the page stays dirty
  GNSTOR_HD status flush(page_index page, deadline d) const {
    const word_ref word = page_at(page);
    page_word seen{word.load(acquire)};
    if (!seen.is(page_word::dirty)) return status{};
    const std::uint64_t idle = page_word::resident | page_word::dirty;
    if ((seen.bits & (idle | page_word::busy | page_word::reference_mask)) != idle ||
        !word.compare_exchange(seen.bits, seen.bits | page_word::busy, acquire)) {
      return status::make(status_code::would_block, reporter::array);
    }
    const status s = write_back(page, seen.frame(), d);
    word.fetch_sub(page_word::busy + (s.ok() ? page_word::dirty : 0), release);
    return s;
  }

  /// Lets the next `pin` try again to fetch a page whose fetch failed.
  /// @par Callers one lane, while nobody else uses the page
  GNSTOR_HD void forgive(page_index page) const {
    const word_ref word = page_at(page);
    const page_word seen{word.load(acquire)};
    if (seen.is(page_word::failed)) word.fetch_sub(seen.bits & ~page_word::reference_mask, release);
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

  /// The bytes of a frame.
  GNSTOR_HD unsigned char* data(frame_index f) const {
    return reinterpret_cast<unsigned char*>(buffer_.address) +
           std::uint64_t{f.value} * store_.page_bytes();
  }

 private:
  using word_ref = atomic_ref<std::uint64_t, thread_scope_device>;

  static constexpr std::uint64_t silence_ns = 1'000'000'000;  ///< until a silent SSD is tried again

  /// A frame's word is its page + 1, or one of `free_frame`, `taken_frame`, `lost_frame`. With this
  /// bit, a write-back that was given up may still read the frame: the page may stay, but no other
  /// may follow it.
  static constexpr std::uint64_t last_page = std::uint64_t{1} << 62;

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
  GNSTOR_HD io_buffer buffer(frame_index f) const {
    return buffer_.slice(std::uint64_t{f.value} * store_.page_bytes(), store_.page_bytes());
  }
  GNSTOR_HD static void count(std::uint64_t& counter) { word_ref(counter).fetch_add(1, relaxed); }

  GNSTOR_HD status remember(status s, page_index page) const {
    count(state_->counters.io_errors);
    keep(s, page.value);
    return s;
  }
  GNSTOR_HD static status abandon(const word_ref& word, status why) {
    word.fetch_sub(page_word::reference, release);
    return why;
  }

  /// Marks a page that is there and referenced as it is used.
  GNSTOR_HD frame_index used(page_index page, page_word seen, page_use use) const {
    if (use == page_use::write && !seen.is(page_word::dirty))
      page_at(page).fetch_or(page_word::dirty, relaxed);
    return seen.frame();
  }
  /// Waits for a page that is referenced and not there: fetches it, unless another lane does.
  GNSTOR_HD_SLOW result<frame_index> pin_absent(page_index page, page_word seen, page_use use,
                                                deadline d) const {
    const word_ref word = page_at(page);
    for (until more{d}; more;) {
      if (seen.usable()) return used(page, seen, use);
      if (seen.is(page_word::failed)) return abandon(word, seen.why());
      if (!seen.is(page_word::busy) &&
          word.compare_exchange(seen.bits, seen.bits | page_word::busy, acquire)) {
        const status s = fault(page, word, d);
        if (!s.ok()) return abandon(word, s);
      }
      seen.bits = word.load(acquire);
    }
    return abandon(word, status::make(status_code::timed_out, reporter::array));
  }
  /// Fetches a page that the caller made busy.
  GNSTOR_HD status fault(page_index page, const word_ref& word, deadline d) const {
    result<frame_index> frame = take_frame(d);
    if (!frame) {
      word.fetch_sub(page_word::busy, release);
      return frame.status;
    }
    const bool wary = word_ref(state_->silent).load(relaxed) != 0;
    status s;
    if (!wary) s = store_.fetch(page, buffer(frame.value), d);
    if (wary || s.code == status_code::buffer_in_use) s = fetch_from_others(page, frame, s, d);
    if (!frame) {
      word.fetch_sub(page_word::busy, release);
      return frame.status;
    }
    if (!s.ok()) {
      if (s.left_behind()) {
        set_aside(frame.value);
      } else {
        frame_at(frame.value).store(free_frame, release);
      }
      word.fetch_add(page_word::failure(remember(s, page)) - page_word::busy, release);
      return s;
    }
    count(state_->counters.pages_in);
    frame_at(frame.value).store(std::uint64_t{page.value} + 1, relaxed);
    // Paired with the acquire in `pin`: the page's bytes, and the frame's owner, are in place.
    word.fetch_add(page_word::resident - page_word::busy + page_word::at(frame.value), release);
    return status{};
  }

  /// Takes a frame out of use for good: a request given up may still read or write it.
  GNSTOR_HD void set_aside(frame_index f) const {
    count(state_->counters.lost_frames);
    frame_at(f).store(lost_frame, relaxed);
  }

  /// Fetches a page from others than SSDs that fell silent lately: each that is asked first may
  /// write the frame for good, and costs its share of the time. What lies in such a frame may
  /// change while it is copied, so the page is fetched again into another one.
  /// @param frame in: where to; out: the frame of the last attempt, or why there is none
  /// @param s what the attempt before said; ok: there was none
  GNSTOR_HD_SLOW status fetch_from_others(page_index page, result<frame_index>& frame, status s,
                                          deadline d) const {
    for (bounded tries{max_replicas + 1}; tries;) {
      if (s.code == status_code::buffer_in_use) {
        remember_silent(ssd_index(s.ssd));
        set_aside(frame.value);
        frame = take_frame(d);
        if (!frame) break;
      }
      s = heard_from().fetch(page, buffer(frame.value), d);
      if (s.code != status_code::buffer_in_use) break;
    }
    return s;
  }
  GNSTOR_HD void remember_silent(ssd_index ssd) const {
    const std::uint64_t until = deadline::after(simt::now_ns(), silence_ns).at_ns();
    word_ref(state_->silent_until_ns).store(until, relaxed);
    word_ref(state_->silent).fetch_or(std::uint64_t{1} << ssd.value % 64, relaxed);
  }
  /// The store without SSDs that fell silent lately.
  GNSTOR_HD Store heard_from() const {
    Store others = store_;
    const deadline until = deadline::after(0, word_ref(state_->silent_until_ns).load(relaxed));
    if (until.expired(simt::now_ns())) word_ref(state_->silent).store(0, relaxed);
    std::uint64_t silent = word_ref(state_->silent).load(relaxed);
    for (bounded left{64}; silent != 0 && left; silent &= silent - 1) {
      const auto ssd = static_cast<std::uint16_t>(cuda::std::countr_zero(silent));
      others = others.avoiding(ssd_index(ssd));
    }
    return others;
  }

  /// A frame of one's own: a free one, or one whose page nobody pins.
  GNSTOR_HD result<frame_index> take_frame(deadline d) const {
    for (until more{d}; more;) {
      for (std::uint32_t k = 0; k < frames_; ++k) {
        const std::uint64_t turn = word_ref(state_->cursor).fetch_add(1, relaxed);
        const frame_index f(static_cast<std::uint32_t>(turn % frames_));
        std::uint64_t owner = frame_at(f).load(relaxed);
        if (owner == free_frame) {
          if (frame_at(f).compare_exchange(owner, taken_frame, acquire)) return f;
        } else if (owner != taken_frame && owner != lost_frame) {
          if (take_from(page_index(static_cast<std::uint32_t>((owner & ~last_page) - 1)), f, d))
            return f;
        }
      }
    }
    return status::make(status_code::no_memory, reporter::array);
  }

  /// Takes frame `f` from `page` if it still holds it and nobody pins it.
  GNSTOR_HD bool take_from(page_index page, frame_index f, deadline d) const {
    const word_ref word = page_at(page);
    page_word seen{word.load(relaxed)};
    if (!seen.usable() || seen.references() != 0 || !(seen.frame() == f)) return false;
    // Paired with the release in `unpin`.
    if (!word.compare_exchange(seen.bits, seen.bits | page_word::busy, acquire)) return false;
    if (seen.is(page_word::dirty) && !write_back(page, f, half_of(d)).ok()) {
      word.fetch_sub(page_word::busy, release);  // it stays resident and dirty
      return false;
    }
    const bool usable = (frame_at(f).load(relaxed) & last_page) == 0;
    if (usable) {
      frame_at(f).store(taken_frame, relaxed);
    } else {
      set_aside(f);
    }
    count(state_->counters.evictions);
    const std::uint64_t flags =
        page_word::busy | page_word::resident | (seen.bits & page_word::dirty);
    word.fetch_sub(flags + page_word::at(f), release);
    return usable;
  }

  GNSTOR_HD_SLOW status write_back(page_index page, frame_index f, deadline d) const {
    const status s = store_.store(page, buffer(f), d);
    if (s.left_behind()) frame_at(f).fetch_or(last_page, relaxed);
    if (!s.ok()) return remember(s, page);
    count(state_->counters.pages_out);
    return s;
  }

  /// Half of the time that is left: a write-back that hangs leaves time to try another frame.
  GNSTOR_HD static deadline half_of(deadline d) {
    const std::uint64_t now = simt::now_ns();
    if (d.expired(now) || d.at_ns() == deadline::never().at_ns()) return d;
    return deadline::after(now, (d.at_ns() - now) / 2);
  }

  Store store_;
  page_cache_state* state_;
  std::uint32_t pages_;
  std::uint32_t frames_;
  io_buffer buffer_;
};

}  // namespace gnstor::inline v0
