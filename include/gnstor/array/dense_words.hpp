#pragma once

#include <gnstor/array/frame_ring.hpp>
#include <gnstor/array/page_use.hpp>
#include <gnstor/array/page_word.hpp>
#include <gnstor/core/assert.hpp>
#include <gnstor/simt/group.hpp>

namespace gnstor::inline v0 {

/// A word for each page of an array, in a row (a reference, passed by value).
class dense_words {
 public:
  using word_ref = frame_ring::word_ref;
  /// What was seen of a page by who has no reference of it.
  using sight = page_word;
  /// A page's word outlives its stay in a frame.
  static constexpr bool remembers = true;

  GNSTOR_HD static constexpr std::uint64_t bytes(std::uint32_t pages, std::uint32_t) {
    return 8ull * pages;
  }

  /// Words at the beginning of the memory.
  GNSTOR_HD static constexpr std::uint64_t places(std::uint32_t pages, std::uint32_t) {
    return pages;
  }

  /// @param memory zero-filled, `bytes` long, aligned to 8 bytes
  GNSTOR_HD dense_words(void* memory, std::uint32_t pages, std::uint32_t)
      : words_(static_cast<std::uint64_t*>(memory)), pages_(pages) {}

  /// The word of a page.
  GNSTOR_HD word_ref at(page_index page) const { return word_ref(*find(page)); }
  /// Where it lies. There always is one: see `hashed_words`.
  GNSTOR_HD std::uint64_t* find(page_index page) const {
    GNSTOR_VERIFY(page.value < pages_);
    return words_ + page.value;
  }
  GNSTOR_HD static constexpr bool is_none(const std::uint64_t*) { return false; }
  GNSTOR_HD static constexpr bool is_of(page_index, const std::uint64_t*) { return true; }

  /// The word of a page, for a read without a reference.
  /// @par Order acquires the page's bytes where it is `usable`
  GNSTOR_HD sight look(page_index page) const {
    return page_word{word_ref(words_[page.value]).load(acquire)};
  }
  /// The same word again.
  GNSTOR_HD page_word again(page_index page, const sight&) const {
    return page_word{word_ref(words_[page.value]).load(relaxed)};
  }
  /// Adds a reference; the page as it is then.
  /// @par Result false, and there is none, if the page has as many as there may be
  GNSTOR_HD bool refer(page_index page, page_word& seen) const {
    const word_ref word = at(page);
    seen = page_word{word.fetch_add(page_word::reference, acquire) + page_word::reference};
    const bool may = seen.references() <= page_word::most_references;
    if (!may) word.fetch_sub(page_word::reference, release);
    return may;
  }

  /// Lanes of `g` that have the same page for the same use, also among those of other arrays.
  /// @par Callers every lane of `g`, converged
  GNSTOR_HD simt::group alike(const simt::group& g, page_index page, page_use use) const {
    return g.partition(reinterpret_cast<std::uint64_t>(words_ + page.value) |
                       static_cast<std::uint64_t>(use));
  }

 private:
  std::uint64_t* words_;
  std::uint32_t pages_;
};

}  // namespace gnstor::inline v0
