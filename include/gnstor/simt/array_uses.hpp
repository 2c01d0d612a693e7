#pragma once

#include <gnstor/simt/stream.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace gnstor::simt {

/// Which arrays the kernels use that executors of this process have begun and not ended: so that
/// the host can refuse to touch an array meanwhile.
///
/// An array is named by the address of its counters. Kernels that no executor has started, and
/// views within other arguments of a kernel, are not known here.
class array_uses {
 public:
  using names = std::vector<const void*>;

  /// What a kernel's argument names: an array where it is a view of one, otherwise null.
  template <class Argument>
  static const void* named_by(const Argument& a) {
    if constexpr (requires { &a.cache().counters(); }) {
      return &a.cache().counters();
    } else {
      return nullptr;
    }
  }
  /// Adds what a kernel's argument names to `arrays`.
  template <class Argument>
  static void add_to(names& arrays, const Argument& a) {
    if (const void* const array = named_by(a); array != nullptr) arrays.push_back(array);
  }

  /// Where a run's kernels have been enqueued, and how to ask whether they have ended.
  struct order {
    std::vector<stream> streams;
    bool (*is_done)(stream) = nullptr;  ///< null: they have not ended before `end`
  };

  /// Adds `arrays` to those that the kernels of `run` use, until they have ended in `where`.
  static void begin(const void* run, const names& arrays, order where) {
    if (arrays.empty()) return;
    const std::lock_guard lock(all().guard);
    entry& e = all().runs[run];
    e.arrays.insert(e.arrays.end(), arrays.begin(), arrays.end());
    e.where = std::move(where);
  }
  /// Forgets `run`.
  static void end(const void* run) noexcept {
    const std::lock_guard lock(all().guard);
    all().runs.erase(run);
  }
  /// True while a kernel of a known run uses `array`.
  static bool contain(const void* array) {
    const std::lock_guard lock(all().guard);
    return std::any_of(all().runs.begin(), all().runs.end(), [array](const auto& run) {
      const names& used = run.second.arrays;
      return std::find(used.begin(), used.end(), array) != used.end() &&
             !has_ended(run.second.where);
    });
  }

 private:
  struct entry {
    names arrays;
    order where;
  };
  struct table {
    std::mutex guard;
    std::map<const void*, entry> runs;
  };
  static bool has_ended(const order& where) {
    return where.is_done != nullptr &&
           std::all_of(where.streams.begin(), where.streams.end(), where.is_done);
  }
  static table& all() {
    static table one;
    return one;
  }
};

}  // namespace gnstor::simt
