#pragma once

#include <gnstor/simt/atomic_ref.hpp>

#include <type_traits>

namespace gnstor::fw {

/// Quiescence periods: tells owners when no reader can still be using what they took out of a
/// mapping (a view).
///
/// A reader that looks beside the owner says, again and again, that it uses nothing of what it saw
/// before: `quiet`. Once every reader has said so after a change, what the change hid is the
/// owner's alone. Readers pay a load and now and then a store; nobody waits. (Quiescent-state-based
/// reclamation: McKenney and Slingwine, 1998.)
/// @tparam Scope the widest distance between a reader and an owner
template <thread_scope Scope>
class reader_quiescence {
 public:
  /// No readers: every period is over at once.
  GNSTOR_HD reader_quiescence() : words_(nullptr), readers_(0) {}
  /// @param words zeroed, `words_for(readers)` of them
  GNSTOR_HD reader_quiescence(std::uint64_t* words, std::uint32_t readers)
      : words_(words), readers_(readers) {}

  GNSTOR_HD static constexpr std::uint32_t words_for(std::uint32_t readers) { return 1 + readers; }

  GNSTOR_HD std::uint32_t readers() const { return readers_; }

  /// Reader `r` uses nothing any more of what it saw before.
  /// @par Callers one lane of the reader
  /// @par Order releases its accesses to `over`; what was hidden before a period it tells of is
  /// hidden from its next look
  GNSTOR_HD void quiet(std::uint32_t r) const {
    const word mine(words_[1 + r]);
    const std::uint64_t now = word(words_[0]).load(acquire);
    if (mine.load(relaxed) != now) mine.store(now, release);
  }

  /// Reader `r` looks no more: nobody waits for it.
  /// @par Callers as `quiet`
  GNSTOR_HD void leave(std::uint32_t r) const {
    word(words_[1 + r]).store(~std::uint64_t{0}, release);
  }

  /// Begins a period after a change. @par Callers any owner
  /// @par Order releases the change to readers
  GNSTOR_HD std::uint64_t begin() const {
    return readers_ == 0 ? 0 : word(words_[0]).fetch_add(1, acq_rel) + 1;
  }
  /// True once every reader has been quiet since `period` began.
  /// @par Order acquires what the readers released
  GNSTOR_HD bool over(std::uint64_t period) const {
    for (std::uint32_t r = 0; r < readers_; ++r) {
      if (word(words_[1 + r]).load(acquire) < period) return false;
    }
    return true;
  }

 private:
  using word = atomic_ref<std::uint64_t, Scope>;

  std::uint64_t* words_;
  std::uint32_t readers_;
};

static_assert(std::is_trivially_copyable_v<reader_quiescence<thread_scope_device>>);

}  // namespace gnstor::fw
