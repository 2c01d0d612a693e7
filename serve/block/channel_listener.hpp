#pragma once

#include <link/array_link.hpp>

#include <unistd.h>

#include <cstdint>
#include <utility>

namespace gnstor::serve {

/// How an engine has its thread woken by completions of a link's channel: an event descriptor is
/// written with them, while the engine waits for any.
class channel_listener {
 public:
  explicit channel_listener(std::uint32_t channel) : channel_(channel) {}
  channel_listener(const channel_listener&) = delete;
  channel_listener& operator=(const channel_listener&) = delete;

  /// As `request_engine::wakes`.
  bool wakes(const host::array_link& link, int event_fd) {
    if (!link.can_wake()) return false;
    event_fd_ = event_fd;
    return true;
  }
  /// As `request_engine::arm`. Who waits for nothing is not woken by what others have.
  void arm(host::array_link& link, bool waits) {
    listen(link, waits);
    if (waits) link.arm(channel_);
  }
  /// Ends it. @pre `link` is that of `arm`
  void end(host::array_link& link) { listen(link, false); }
  /// Has the thread look again.
  void wake() const {
    if (event_fd_ < 0) return;
    constexpr std::uint64_t one = 1;
    (void)!::write(event_fd_, &one, sizeof one);
  }

 private:
  void listen(host::array_link& link, bool on) {
    if (event_fd_ >= 0 && std::exchange(listens_, on) != on) link.wake(channel_, event_fd_, on);
  }

  const std::uint32_t channel_;
  int event_fd_ = -1;
  bool listens_ = false;  ///< it is written with the channel's completions
};

}  // namespace gnstor::serve
