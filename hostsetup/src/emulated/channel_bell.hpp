#pragma once

#include <hca/completion_bell.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

namespace gnstor::host {

/// The bell of one channel, and who wants to hear it: event descriptors, which are all written
/// whoever has armed it.
class channel_bell {
 public:
  channel_bell() : bell_([](void* me) { static_cast<channel_bell*>(me)->ring(); }, this) {}
  channel_bell(const channel_bell&) = delete;
  channel_bell& operator=(const channel_bell&) = delete;

  fw::completion_bell& bell() { return bell_; }
  void arm() { bell_.arm(); }
  void add(int event_fd) {
    const std::lock_guard lock(guard_);
    fds_.push_back(event_fd);
  }
  /// Afterwards it is not written any more.
  void remove(int event_fd) {
    const std::lock_guard lock(guard_);
    std::erase(fds_, event_fd);
  }

 private:
  void ring() {
    constexpr std::uint64_t one = 1;
    const std::lock_guard lock(guard_);
    for (const int fd : fds_) (void)!::write(fd, &one, sizeof one);
  }

  std::mutex guard_;  ///< of `fds_`
  std::vector<int> fds_;
  fw::completion_bell bell_;
};

}  // namespace gnstor::host
