#pragma once

#include "plan.hpp"
#include "worker_pool.hpp"

namespace gnstor::serve {

/// The threads of a target that wait for the array.
///
/// Those that wait for a disk, too, are others: hosts that flush do not keep others from reading.
/// So are those that wait for what the rest executes, which could not go on if all did.
class target_workers {
 public:
  static constexpr std::uint32_t disk_waiters = 2;

  static constexpr std::uint32_t last_waiters = 2;

  explicit target_workers(std::uint32_t threads)
      : quick_(threads), lasting_(disk_waiters), last_(last_waiters) {}
  worker_pool& of(const plan& p) {
    if (p.behind_others) return last_;
    return p.lasting ? lasting_ : quick_;
  }

 private:
  worker_pool quick_;
  worker_pool lasting_;
  worker_pool last_;
};

}  // namespace gnstor::serve
