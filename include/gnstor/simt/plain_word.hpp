#pragma once

#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::inline v0 {

/// A word that one lane at a time uses, with the operations of `atomic_ref`: loads and stores, no
/// read-modify-write.
///
/// It lets one source serve words that many lanes share and words that one lane owns. Orders are
/// accepted and mean nothing: whoever hands the word to another lane orders it (a warp's `sync`).
template <class T>
class plain_word {
 public:
  GNSTOR_HD explicit plain_word(T& word) : word_(&word) {}

  GNSTOR_HD T load(memory_order) const { return *word_; }
  GNSTOR_HD void store(T value, memory_order) const { *word_ = value; }
  GNSTOR_HD bool compare_exchange(T& expected, T desired, memory_order) const {
    const T before = *word_;
    const bool done = before == expected;
    if (done) *word_ = desired;
    expected = before;
    return done;
  }
  GNSTOR_HD T exchange(T value, memory_order) const { return replace(value); }
  GNSTOR_HD T fetch_add(T value, memory_order) const { return replace(T(*word_ + value)); }
  GNSTOR_HD T fetch_or(T value, memory_order) const { return replace(T(*word_ | value)); }
  GNSTOR_HD T fetch_and(T value, memory_order) const { return replace(T(*word_ & value)); }
  GNSTOR_HD T fetch_max(T value, memory_order) const {
    return replace(*word_ > value ? *word_ : value);
  }

 private:
  GNSTOR_HD T replace(T value) const {
    const T before = *word_;
    *word_ = value;
    return before;
  }

  T* word_;
};

}  // namespace gnstor::inline v0
