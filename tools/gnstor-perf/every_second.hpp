#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace gnstor::tools {

/// Calls `work` every second until it is destroyed.
class every_second {
 public:
  explicit every_second(std::function<void(double)> work)
      : work_(std::move(work)), thread_([this] { repeat(); }) {}
  ~every_second() {
    {
      const std::lock_guard lock(use_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void repeat() {
    std::unique_lock lock(use_);
    while (!changed_.wait_for(lock, std::chrono::seconds(1), [this] { return over_; })) work_(1.0);
  }

  std::function<void(double)> work_;
  std::mutex use_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace gnstor::tools
