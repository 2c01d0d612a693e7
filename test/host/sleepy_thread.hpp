#pragma once
/// Threads of this process that are put to sleep from outside, wherever they are: as a scheduler
/// does that has others to run.

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace gnstor::test {

/// The kernel's ids of this process' threads, in order.
inline std::vector<int> threads_here() {
  std::vector<int> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    all.push_back(std::stoi(entry.path().filename().string()));
  std::sort(all.begin(), all.end());
  return all;
}

/// Puts threads to sleep by a signal, one at a time, for as long as the object lives.
class sleepy_thread {
 public:
  sleepy_thread() {
    struct sigaction now = {};
    now.sa_handler = sleep_now;
    now.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &now, &before_);
  }
  ~sleepy_thread() { sigaction(SIGUSR1, &before_, nullptr); }
  sleepy_thread(const sleepy_thread&) = delete;
  sleepy_thread& operator=(const sleepy_thread&) = delete;

  /// Has a thread sleep; returns once it does.
  static void put_to_sleep(int thread, std::chrono::milliseconds how_long) {
    length_ns_ = std::chrono::nanoseconds(how_long).count();
    state_ = awake;
    if (syscall(SYS_tgkill, getpid(), thread, SIGUSR1) != 0)
      throw std::runtime_error("no such thread");
    wait_for(asleep);
  }
  /// Waits until it has woken up.
  static void wait() { wait_for(woken); }

 private:
  enum state : int { awake, asleep, woken };

  static void sleep_now(int) {
    timespec left = {length_ns_ / 1'000'000'000, length_ns_ % 1'000'000'000};
    state_ = asleep;
    for (; nanosleep(&left, &left) != 0;) continue;
    state_ = woken;
  }
  static void wait_for(state wanted) {
    for (; state_ < wanted;) usleep(1000);
  }

  static_assert(std::atomic<int>::is_always_lock_free);
  inline static std::atomic<int> state_{awake};
  inline static std::atomic<long> length_ns_{0};
  struct sigaction before_ = {};
};

}  // namespace gnstor::test
