#include "proxy_thread.hpp"

#include <base/start_thread.hpp>
#include <gnstor/core/assert.hpp>
#include <gnstor/host/error.hpp>

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace gnstor::host {
namespace {

constexpr std::uint32_t longest_sleep_us = 50;

/// Tells the core that this is a spin.
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace

proxy_thread::proxy_thread(proxy_thread_options options) : options_(options) {
  if (options.sleep_us > longest_sleep_us) {
    throw input_error("a proxy thread that sleeps " + std::to_string(options.sleep_us) +
                      " us at a time: 50 us is the most");
  }
  thread_ = start_thread("proxy", "passing kernels' requests on", [this] { run(); });
}

proxy_thread::~proxy_thread() {
  stop_.store(true, std::memory_order_relaxed);
  thread_.join();
}

void proxy_thread::add(proxy_task& task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(&task);
  version_.fetch_add(1, std::memory_order_relaxed);
}

void proxy_thread::remove(proxy_task& task) {
  GNSTOR_VERIFY(std::this_thread::get_id() != thread_.get_id());
  std::unique_lock lock(mutex_);
  const auto gone = std::remove(tasks_.begin(), tasks_.end(), &task);
  if (gone == tasks_.end()) return;
  tasks_.erase(gone, tasks_.end());
  const std::uint64_t mine = version_.fetch_add(1, std::memory_order_relaxed) + 1;
  seen_.wait(lock, [&] { return seen_version_ >= mine; });
}

void proxy_thread::run() {
  // A sleep is as long as it says: the kernel would add 50 us of slack.
  prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
  std::uint32_t idle_rounds = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    take_over_tasks();
    bool busy = false;
    for (proxy_task* task : running_) busy = task->tick() || busy;
    idle_rounds = busy ? 0 : idle_rounds + 1;
    if (!busy) wait_idle(idle_rounds);
  }
}

void proxy_thread::take_over_tasks() {
  // The mutex orders the list; this only tells that there is a new one.
  if (version_.load(std::memory_order_relaxed) == last_version_) return;
  const std::lock_guard lock(mutex_);
  running_ = tasks_;
  last_version_ = seen_version_ = version_.load(std::memory_order_relaxed);
  seen_.notify_all();
}

void proxy_thread::wait_idle(std::uint32_t idle_rounds) const {
  if (idle_rounds <= options_.spins) {
    relax();
  } else if (idle_rounds - options_.spins <= options_.yields || options_.sleep_us == 0) {
    sched_yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(options_.sleep_us));
  }
}

}  // namespace gnstor::host
