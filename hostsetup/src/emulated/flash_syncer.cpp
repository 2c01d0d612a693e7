#include "flash_syncer.hpp"

#include <base/start_thread.hpp>

#include <utility>

namespace gnstor::host {

void flash_syncer::start() {
  if (thread_.joinable()) return;
  waiting_.reserve(node_.shape.commands());
  thread_ = start_thread("writing flash files to their disk", [this] { serve(); });
}

flash_syncer::~flash_syncer() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(guard_);
      stopping_ = true;
    }
    sem_post(&bell_);
    thread_.join();
  }
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

void flash_syncer::serve() {
  std::vector<request> taken;
  taken.reserve(node_.shape.commands());
  for (bool more = true; more;) {
    while (sem_wait(&bell_) != 0) continue;     // a signal's handler has run
    while (sem_trywait(&bell_) == 0) continue;  // what follows answers them all
    {
      const std::lock_guard lock(guard_);
      taken.swap(waiting_);
      more = !stopping_;
    }
    carry_out(taken);
    taken.clear();
    look_();
  }
}

/// Each SSD's file is written once, whoever asked.
void flash_syncer::carry_out(const std::vector<request>& requests) const {
  for (std::uint32_t ssd = 0; ssd < node_.shape.ssd_count; ++ssd) {
    bool done = false;
    bool written = false;
    for (const request& r : requests) {
      if (r.ssd != ssd) continue;
      if (!std::exchange(done, true)) written = sync_(ssd);
      node_.settled(ssd, r.handle, written);
    }
  }
}

}  // namespace gnstor::host
