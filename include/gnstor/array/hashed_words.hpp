#pragma once

#include <gnstor/array/frame_ring.hpp>
#include <gnstor/array/page_use.hpp>
#include <gnstor/array/page_word.hpp>
#include <gnstor/core/assert.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/core/hash.hpp>
#include <gnstor/simt/group.hpp>

namespace gnstor::inline v0 {

/// Words of those pages alone that lie in a frame, or that somebody waits for (a reference, passed
/// by value): their memory grows with the frames, and not with the array.
///
/// A page has its word in one of the eight places of one of eight buckets that its number is hashed
/// to. A place is named by a key of 32 bits beside the word: the page's number + 1, with a mark
/// while a lane tries to take the place from it; 0 where no page has been. A page keeps its place
/// while somebody has a reference, while it is busy, failed or in a frame; after that the place is
/// anybody's.
///
/// No page has two places: who gives it one has the lock of its first bucket, which is tried and
/// not waited for, and a page whose place is marked still has it. A lane that adds a reference then
/// reads the key by a read-modify-write, and one that takes a place marks the key by another before
/// it looks for references: whichever comes second sees what the other did.
///
/// The version of a place grows when its page loses its frame, whatever page is there next, so that
/// a reader without a reference sees that the frame was another page's.
/// @tparam Least buckets, however few the frames are: lanes that wait for a frame have places, too
template <std::uint32_t Least = 128>
class hashed_words {
 public:
  using word_ref = frame_ring::word_ref;
  /// What was seen of a page by who has no reference of it, and where.
  struct sight : page_word {
    std::uint32_t place = 0;
  };
  /// A page that lost its frame is as one that never was there.
  static constexpr bool remembers = false;

  static constexpr std::uint32_t bucket_places = 8;
  static constexpr std::uint32_t choices = 8;  ///< buckets of a page

  /// Five places for four frames: with fewer, pages find all of theirs taken.
  GNSTOR_HD static constexpr std::uint32_t buckets_for(std::uint32_t frames) {
    const std::uint64_t wanted = std::uint64_t{frames} * 5 / 4 / bucket_places + 1;
    return wanted < Least ? Least : static_cast<std::uint32_t>(wanted);
  }
  GNSTOR_HD static constexpr std::uint64_t bytes(std::uint32_t, std::uint32_t frames) {
    return std::uint64_t{buckets_for(frames)} * (bucket_places * (8 + 4) + 4);
  }

  /// Words at the beginning of the memory.
  GNSTOR_HD static constexpr std::uint64_t places(std::uint32_t, std::uint32_t frames) {
    return std::uint64_t{buckets_for(frames)} * bucket_places;
  }

  /// @param memory zero-filled, `bytes` long, aligned to 8 bytes
  GNSTOR_HD hashed_words(void* memory, std::uint32_t, std::uint32_t frames)
      : words_(static_cast<std::uint64_t*>(memory)), buckets_(buckets_for(frames)) {}

  /// The word of a page that the caller has a reference of, or made busy.
  GNSTOR_HD word_ref at(page_index page) const {
    const std::uint32_t place = place_of(page);
    GNSTOR_VERIFY(place != nowhere);
    return word_at(place);
  }
  /// Where the word of a page lies; null if it has none. It may be another page's by the time it is
  /// changed: `is_of` says so of a word that the caller made busy.
  GNSTOR_HD std::uint64_t* find(page_index page) const {
    const std::uint32_t place = place_of(page);
    return place == nowhere ? nullptr : words_ + place;
  }
  GNSTOR_HD static bool is_none(const std::uint64_t* word) { return word == nullptr; }
  GNSTOR_HD bool is_of(page_index page, const std::uint64_t* word) const {
    const auto place = static_cast<std::uint32_t>(word - words_);
    return (key_of(pair_of(place).load(acquire), place) & ~moving) == key_of(page);
  }

  /// The word of a page, for a read without a reference; of one that has none, no word's.
  /// @par Order acquires the page's bytes where it is `usable`
  GNSTOR_HD sight look(page_index page) const {
    const std::uint32_t place = place_of(page);
    if (place == nowhere) return {};
    const page_word word{word_at(place).load(acquire)};
    // Whose word was it? If the page came back here meanwhile, `again` finds that out. A mark says
    // nothing yet: who flushes must not miss a page for it.
    if (!is_of(page, words_ + place)) return {};
    return {word, place};
  }
  /// The same word again.
  GNSTOR_HD page_word again(page_index, const sight& seen) const {
    return page_word{word_at(seen.place).load(relaxed)};
  }
  /// Adds a reference; the page as it is then.
  /// @par Result false, and there is none, if there is no place for the page, if its place is being
  /// taken away, or if it has as many references as there may be: try again, by a deadline
  GNSTOR_HD bool refer(page_index page, page_word& seen) const {
    const std::uint32_t place = place_of(page);
    if (place == nowhere) return enter(page, seen);
    const word_ref word = word_at(place);
    seen = page_word{word.fetch_add(page_word::reference, acquire) + page_word::reference};
    // Paired with `take`: either that lane finds the reference, or this one its mark.
    const bool stays = key_of(pair_of(place).fetch_or(0, acq_rel), place) == key_of(page);
    if (stays && seen.references() <= page_word::most_references) return true;
    word.fetch_sub(page_word::reference, release);
    return false;
  }

  /// Lanes of `g` that have the same page for the same use; the lane alone where some have another
  /// array.
  /// @par Callers every lane of `g`, converged
  GNSTOR_HD simt::group alike(const simt::group& g, page_index page, page_use use) const {
    const auto array = reinterpret_cast<std::uint64_t>(words_);
    if (!g.all(array == g.broadcast(array))) return simt::group::self();
    return g.partition(std::uint64_t{page.value} << 2 | static_cast<std::uint64_t>(use));
  }

 private:
  using lock_ref = atomic_ref<std::uint32_t, thread_scope_device>;
  static constexpr std::uint32_t nowhere = ~0u;
  static constexpr std::uint32_t moving = 1u << 31;  ///< the mark in a key
  static constexpr std::uint64_t in_use =
      page_word::resident | page_word::busy | page_word::failed | page_word::reference_mask;

  /// The buckets of a page. The first one's lock is the page's.
  class hash {
   public:
    GNSTOR_HD hash(page_index page, std::uint32_t buckets)
        : bits_(mix64(std::uint64_t{page.value} + 1)), buckets_(buckets) {}
    GNSTOR_HD std::uint32_t operator[](std::uint32_t choice) const {
      const auto step = static_cast<std::uint32_t>(bits_ >> 32) | 1;
      const std::uint32_t drawn = static_cast<std::uint32_t>(bits_) + choice * step;
      return static_cast<std::uint32_t>(std::uint64_t{drawn} * buckets_ >> 32);
    }

   private:
    std::uint64_t bits_;
    std::uint32_t buckets_;
  };
  GNSTOR_HD hash buckets_of(page_index page) const { return hash(page, buckets_); }

  // Words, then keys by two in a word, then locks.
  GNSTOR_HD word_ref word_at(std::uint32_t place) const { return word_ref(words_[place]); }
  GNSTOR_HD std::uint64_t* pairs() const {
    return words_ + std::uint64_t{buckets_} * bucket_places;
  }
  GNSTOR_HD word_ref pair_of(std::uint32_t place) const { return word_ref(pairs()[place / 2]); }
  GNSTOR_HD lock_ref lock_of(std::uint32_t bucket) const {
    std::uint64_t* const end = pairs() + std::uint64_t{buckets_} * (bucket_places / 2);
    return lock_ref(reinterpret_cast<std::uint32_t*>(end)[bucket]);
  }

  GNSTOR_HD static std::uint32_t key_of(page_index page) { return page.value + 1; }
  GNSTOR_HD static std::uint32_t shift_of(std::uint32_t place) { return place % 2 * 32; }
  GNSTOR_HD static std::uint32_t key_of(std::uint64_t pair, std::uint32_t place) {
    return static_cast<std::uint32_t>(pair >> shift_of(place));
  }
  GNSTOR_HD static std::uint64_t as_half(std::uint32_t key, std::uint32_t place) {
    return std::uint64_t{key} << shift_of(place);
  }

  GNSTOR_HD std::uint32_t place_of(page_index page) const {
    const hash buckets = buckets_of(page);
    const std::uint32_t key = key_of(page);
    for (std::uint32_t c = 0; c < choices; ++c) {
      const std::uint32_t first = buckets[c] * bucket_places;
      for (std::uint32_t k = 0; k < bucket_places; k += 2) {
        const std::uint64_t pair = pair_of(first + k).load(relaxed);
        if ((key_of(pair, 0) & ~moving) == key) return first + k;
        if ((key_of(pair, 1) & ~moving) == key) return first + k + 1;
      }
    }
    return nowhere;
  }

  GNSTOR_HD bool lock(std::uint32_t bucket) const {
    std::uint32_t open = 0;
    return lock_of(bucket).compare_exchange(open, 1, acquire);
  }
  GNSTOR_HD void unlock(std::uint32_t bucket) const { lock_of(bucket).store(0, release); }

  /// Gives a place, and a reference, to a page that has none.
  GNSTOR_HD_SLOW bool enter(page_index page, page_word& seen) const {
    const hash buckets = buckets_of(page);
    if (!lock(buckets[0])) return false;
    bool done = false;
    if (place_of(page) == nowhere) {
      // The first with two places left, so that none of a page's buckets fills up while another
      // has room; then the last places.
      for (std::uint32_t least = 2; least != 0 && !done; --least) {
        for (std::uint32_t c = 0; c < choices && !done; ++c) {
          if (places_left(buckets[c]) >= least) done = take_one(buckets[c], page, seen);
        }
      }
    }
    unlock(buckets[0]);
    return done;
  }
  GNSTOR_HD std::uint32_t places_left(std::uint32_t bucket) const {
    std::uint32_t left = 0;
    for (std::uint32_t k = 0; k < bucket_places; ++k) {
      const page_word word{word_at(bucket * bucket_places + k).load(relaxed)};
      left += word.is(in_use) ? 0 : 1;
    }
    return left;
  }

  GNSTOR_HD bool take_one(std::uint32_t bucket, page_index page, page_word& seen) const {
    bool done = false;
    for (std::uint32_t k = 0; k < bucket_places && !done; ++k)
      done = take(bucket * bucket_places + k, page, seen);
    return done;
  }
  /// Takes a place for `page`; false if somebody uses it.
  GNSTOR_HD bool take(std::uint32_t place, page_index page, page_word& seen) const {
    const word_ref word = word_at(place);
    seen.bits = word.load(relaxed);
    if (seen.is(in_use)) return false;
    // The mark first: who adds a reference now finds it, and drops the reference again.
    const word_ref pair = pair_of(place);
    const std::uint32_t key = key_of(pair.fetch_or(as_half(moving, place), acq_rel), place);
    if ((key & moving) != 0) return false;
    const bool taken = word.compare_exchange(seen.bits, seen.bits | page_word::busy, acquire);
    // By addition, as the other half of the word may change: it cannot run over into that.
    const std::uint64_t change = (taken ? key_of(page) : key) - std::uint64_t{key | moving};
    pair.fetch_add(change << shift_of(place), acq_rel);
    if (!taken) return false;
    // Lanes that looked for the page before add references and drop them again.
    constexpr std::uint64_t begun = page_word::busy - page_word::reference;
    seen.bits = word.fetch_sub(begun, acq_rel) - begun;
    return true;
  }

  std::uint64_t* words_;
  std::uint32_t buckets_;
};

}  // namespace gnstor::inline v0
