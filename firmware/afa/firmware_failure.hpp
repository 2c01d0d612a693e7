#pragma once

#include <atomic>
#include <mutex>
#include <string>

namespace gnstor::fw {

/// Why an array node's firmware has ended by itself, for whoever waits for it. Host only.
/// @par Callers any thread
class firmware_failure {
 public:
  /// The firmware is about to end, in words. The first reason counts.
  void report(const std::string& why) {
    const std::lock_guard lock(guard_);
    if (!why_.empty()) return;
    why_ = why.empty() ? "no reason was given" : why;
    raised_.store(true, std::memory_order_release);
  }
  /// True if it has, or will in a moment.
  bool raised() const { return raised_.load(std::memory_order_acquire); }
  std::string why() const {
    const std::lock_guard lock(guard_);
    return why_;
  }

 private:
  std::atomic<bool> raised_ = false;
  mutable std::mutex guard_;
  std::string why_;
};

}  // namespace gnstor::fw
