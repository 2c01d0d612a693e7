#pragma once

#include <base/start_thread.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace gnstor::host {

/// Notices that this process did not run for a while, as it was stopped, or its machine was: a
/// thread looks at the clock again and again, and was late. What the process does meanwhile, or
/// waits for, makes nobody late.
/// @par Callers any threads
class standstill_watch {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds between_looks{100};

  /// @param least what counts beside the time between two looks
  standstill_watch(clock::duration least, clock::time_point now)
      : most_(between_looks + least), seen_(now) {}
  ~standstill_watch() { stop(); }
  standstill_watch(const standstill_watch&) = delete;
  standstill_watch& operator=(const standstill_watch&) = delete;

  /// Looks from now on. Throws `error` if no thread can be started.
  void start() {
    {
      const std::lock_guard lock(guard_);
      seen_ = clock::now();
    }
    thread_ = start_thread("standstill", "noticing standstills", [this] { run(); });
  }
  void stop() {
    {
      const std::lock_guard lock(guard_);
      stopping_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }
  /// How long it did not run since this was asked last; also where the thread has not run since.
  clock::duration missed(clock::time_point now) {
    const std::lock_guard lock(guard_);
    look(now);
    return std::exchange(missed_, {});
  }

 private:
  void look(clock::time_point now) {
    if (now - seen_ >= most_) missed_ += now - seen_;
    if (now > seen_) seen_ = now;
  }
  void run() {
    std::unique_lock lock(guard_);
    while (!changed_.wait_for(lock, between_looks, [this] { return stopping_; }))
      look(clock::now());
  }

  clock::duration most_;
  std::mutex guard_;  ///< of what follows
  std::condition_variable changed_;
  clock::time_point seen_;
  clock::duration missed_{};
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gnstor::host
