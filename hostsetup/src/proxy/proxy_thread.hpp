#pragma once

#include "proxy_task.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace gnstor::host {

/// How a proxy thread waits when it has nothing to do.
struct proxy_thread_options {
  std::uint32_t spins = 2000;   ///< idle rounds before it yields
  std::uint32_t yields = 200;   ///< idle rounds before it sleeps
  std::uint32_t sleep_us = 20;  ///< length of one sleep; 50 at most
};

/// A CPU thread that ticks any number of tasks in turn.
///
/// Nobody can wake it: a GPU that writes a descriptor has no way to. So it spins while there is
/// work, then yields, then sleeps for at most `sleep_us` at a time.
class proxy_thread {
 public:
  /// Throws `input_error` for a sleep longer than 50 us.
  explicit proxy_thread(proxy_thread_options options = {});
  /// Ends the thread; tasks still there are ticked no more.
  ~proxy_thread();
  proxy_thread(const proxy_thread&) = delete;
  proxy_thread& operator=(const proxy_thread&) = delete;

  /// Ticks `task` from now on.
  /// @par Callers any thread
  void add(proxy_task& task);
  /// Ticks `task` no more; when this returns, no tick of it runs. A task that is not there is no
  /// error.
  /// @par Callers any thread but this one's own: not from within a tick
  /// @par Bound the round under way, and one sleep
  void remove(proxy_task& task);

 private:
  void run();
  void take_over_tasks();
  void wait_idle(std::uint32_t idle_rounds) const;

  proxy_thread_options options_;
  std::mutex mutex_;
  std::condition_variable seen_;           ///< the thread has taken over the list of tasks
  std::vector<proxy_task*> tasks_;         ///< guarded by `mutex_`
  std::uint64_t seen_version_ = 0;         ///< guarded by `mutex_`
  std::atomic<std::uint64_t> version_{0};  ///< of `tasks_`
  std::atomic<bool> stop_{false};
  std::vector<proxy_task*> running_;  ///< the thread's own copy
  std::uint64_t last_version_ = 0;    ///< of `running_`
  std::thread thread_;
};

}  // namespace gnstor::host
