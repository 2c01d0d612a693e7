#pragma once

#include <gnstor/qp/sharing_policy.hpp>

namespace gnstor::baseline {

/// Sharing policy of a queue pair that lanes of different multiprocessors use in turn, under locks:
/// its words are loads and stores that reach the next holder, never read-modify-writes.
struct under_lock {
  static constexpr bool alone = true;

  /// The operations of `atomic_ref` that a queue pair needs.
  template <class T>
  class word {
   public:
    GNSTOR_HD explicit word(T& w) : word_(w) {}

    GNSTOR_HD T load(memory_order) const { return word_.load(relaxed); }
    GNSTOR_HD void store(T value, memory_order) const { word_.store(value, relaxed); }
    GNSTOR_HD bool compare_exchange(T& expected, T desired, memory_order) const {
      const T before = word_.load(relaxed);
      const bool done = before == expected;
      if (done) word_.store(desired, relaxed);
      expected = before;
      return done;
    }
    GNSTOR_HD T fetch_add(T value, memory_order) const {
      const T before = word_.load(relaxed);
      word_.store(T(before + value), relaxed);
      return before;
    }
    GNSTOR_HD T fetch_max(T value, memory_order) const {
      const T before = word_.load(relaxed);
      if (value > before) word_.store(value, relaxed);
      return before;
    }

   private:
    device_word<T> word_;
  };
};

static_assert(sharing_policy<under_lock>);

}  // namespace gnstor::baseline
