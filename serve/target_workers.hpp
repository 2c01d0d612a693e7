#pragma once

#include "plan.hpp"
#include "worker_pool.hpp"

namespace gnstor::serve {

/// The threads of a target that wait for the array.
///
/// Those that wait for a disk, too, are others: hosts that flush do not keep others from reading.
/// So are those that wait for what the rest executes, which could not go on if all did; those that
/// let hosts in, which may ask a manager elsewhere; and those that execute what such a manager
/// sends, or it could not answer them.
class target_workers {
 public:
  static constexpr std::uint32_t disk_waiters = 2;

  static constexpr std::uint32_t last_waiters = 2;
  static constexpr std::uint32_t joining = 4;
  /// As many as a manager elsewhere sends commands at once: three repairs, of which two have four
  /// each under way, and what itself asks. One that waits for a silent SSD keeps none from others.
  static constexpr std::uint32_t managing = 12;

  explicit target_workers(std::uint32_t threads)
      : quick_(threads),
        lasting_(disk_waiters),
        last_(last_waiters),
        joining_(joining),
        managing_(managing) {}
  worker_pool& of(const plan& p) {
    if (p.behind_others) return last_;
    if (p.joins) return joining_;
    if (p.managing) return managing_;
    return p.lasting ? lasting_ : quick_;
  }

 private:
  worker_pool quick_;
  worker_pool lasting_;
  worker_pool last_;
  worker_pool joining_;
  worker_pool managing_;
};

}  // namespace gnstor::serve
