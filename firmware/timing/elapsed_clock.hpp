#pragma once

#include <timing/ssd_profile.hpp>

#include <utility>

namespace gnstor::fw {

/// Picoseconds since the first look at a clock of nanoseconds: an unsigned word of them lasts for
/// 213 days. Where the clock goes back, another one goes on from there.
class elapsed_clock {
 public:
  /// @param now of the clock
  std::uint64_t since_start(std::uint64_t now) {
    if (!std::exchange(started_, true)) last_ = now;
    if (now > last_) elapsed_ += (now - last_) * ssd_profile::nanosecond;
    last_ = now;
    return elapsed_;
  }
  /// When it was last looked at, in its nanoseconds.
  std::uint64_t last() const { return last_; }
  /// What the clock shows at a time after that, rounded up. @param at picoseconds since the start
  std::uint64_t shows(std::uint64_t at) const {
    return last_ + (at - elapsed_ + ssd_profile::nanosecond - 1) / ssd_profile::nanosecond;
  }

 private:
  std::uint64_t last_ = 0;
  std::uint64_t elapsed_ = 0;
  bool started_ = false;
};

}  // namespace gnstor::fw
