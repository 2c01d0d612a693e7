#pragma once

#include "write_order.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace gnstor::serve {

/// The turn of a change whose caller waits: it holds its blocks until this ends.
class write_hold final : private write_order::turn {
 public:
  /// @param order outlives it
  write_hold(write_order& order, volume_id of, std::uint64_t first, std::uint64_t blocks)
      : order_(&order) {
    if (order.enter(*this, of, first, blocks)) comes();
  }
  ~write_hold() override { order_->leave(*this); }
  write_hold(const write_hold&) = delete;
  write_hold& operator=(const write_hold&) = delete;

  /// True once every earlier change of its blocks has ended; false if they have not in time.
  bool comes_within(std::chrono::nanoseconds time) {
    std::unique_lock lock(guard_);
    return changed_.wait_for(lock, time, [this] { return come_; });
  }

 private:
  void comes() noexcept override {
    const std::lock_guard lock(guard_);
    come_ = true;
    changed_.notify_all();
  }

  write_order* order_;
  std::mutex guard_;  ///< of `come_`
  std::condition_variable changed_;
  bool come_ = false;
};

}  // namespace gnstor::serve
