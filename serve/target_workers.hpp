#pragma once

#include "plan.hpp"
#include "worker_pool.hpp"

namespace gnstor::serve {

/// The threads of a target that wait for the array.
///
/// Those that wait for a disk, too, are others: hosts that flush do not keep others from reading.
class target_workers {
 public:
  static constexpr std::uint32_t disk_waiters = 2;

  explicit target_workers(std::uint32_t threads) : quick_(threads), lasting_(disk_waiters) {}
  worker_pool& of(const plan& p) { return p.lasting ? lasting_ : quick_; }

 private:
  worker_pool quick_;
  worker_pool lasting_;
};

}  // namespace gnstor::serve
