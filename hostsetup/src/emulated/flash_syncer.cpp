#include "flash_syncer.hpp"

#include <base/start_thread.hpp>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

namespace gnstor::host {

void flash_syncer::start() {
  if (thread_.joinable()) return;
  waiting_.reserve(most_waiting());
  thread_ = start_thread("flash sync", "writing flash files to their disk", [this] { serve(); });
}

void flash_syncer::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(guard_);
    stopping_ = true;
  }
  sem_post(&bell_);
  thread_.join();
  stopping_ = false;
}

flash_syncer::~flash_syncer() {
  stop();
  sem_destroy(&bell_);
}

void flash_syncer::settle(std::uint32_t ssd, std::uint32_t handle) {
  if (!thread_.joinable()) {
    carry_out({{ssd, handle}});
    return look_();
  }
  {
    const std::lock_guard lock(guard_);
    waiting_.push_back({ssd, handle});
  }
  sem_post(&bell_);
}

void flash_syncer::make_room(std::uint32_t ssd) {
  if (!thread_.joinable()) return settle(ssd, nobody);
  {
    const std::lock_guard lock(guard_);
    for (const request& r : waiting_) {
      if (r.ssd == ssd && r.handle == nobody) return;
    }
    waiting_.push_back({ssd, nobody});
  }
  sem_post(&bell_);
}

void flash_syncer::serve() {
  std::vector<request> taken;
  taken.reserve(most_waiting() + node_.shape.ssd_count);
  auto until = std::chrono::steady_clock::now() + longest;
  for (bool more = true; more;) {
    wait(until);
    const auto now = std::chrono::steady_clock::now();
    const bool all = often_ && now >= until;
    if (all) until = now + longest;
    while (sem_trywait(&bell_) == 0) continue;  // what follows answers them all
    {
      const std::lock_guard lock(guard_);
      taken.swap(waiting_);
      more = !stopping_;
    }
    for (std::uint32_t ssd = 0; all && ssd < node_.shape.ssd_count; ++ssd)
      taken.push_back({ssd, nobody});
    carry_out(taken);
    taken.clear();
    look_();
  }
}

/// Waits for the bell, where it is often no longer than until then.
void flash_syncer::wait(std::chrono::steady_clock::time_point until) {
  const auto since_start = until.time_since_epoch();  // of CLOCK_MONOTONIC
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(since_start);
  const timespec limit{static_cast<time_t>(whole.count()),
                       static_cast<long>(std::chrono::nanoseconds(since_start - whole).count())};
  while ((often_ ? sem_clockwait(&bell_, CLOCK_MONOTONIC, &limit) : sem_wait(&bell_)) != 0) {
    if (errno == ETIMEDOUT) return;  // else a signal's handler has run
  }
}

/// Each SSD's file is written once, whoever asked.
void flash_syncer::carry_out(const std::vector<request>& requests) const {
  for (std::uint32_t ssd = 0; ssd < node_.shape.ssd_count; ++ssd) {
    const auto of_ssd = [&](const request& r) { return r.ssd == ssd; };
    const auto asked = [&](const request& r) { return of_ssd(r) && r.handle != nobody; };
    if (std::none_of(requests.begin(), requests.end(), of_ssd)) continue;
    const bool written = sync_(ssd, std::any_of(requests.begin(), requests.end(), asked));
    for (const request& r : requests) {
      if (asked(r)) node_.settled(ssd, r.handle, written);
    }
  }
}

}  // namespace gnstor::host
