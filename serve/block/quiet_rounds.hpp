#pragma once

#include <gnstor/simt/clock.hpp>

#include <chrono>
#include <cstdint>
#include <thread>

namespace gnstor::serve {

/// How a thread waits that polls: by giving way at first, and by naps once nothing has moved for
/// long, so that others have its core.
class quiet_rounds {
 public:
  static constexpr std::uint32_t few = 30;
  /// For kernels, which poll: what sleeps meanwhile is late for them.
  static constexpr std::uint32_t many = 150;

  /// True where one that is woken should sleep.
  bool is_long(std::uint32_t enough = few) const { return rounds_ >= enough; }
  /// @param moved the round before had something to do
  void after(bool moved) {
    rounds_ = moved ? 0 : rounds_ + 1;
    if (moved) return;
    if (rounds_ < keen) {
      simt::pause();
    } else {
      std::this_thread::sleep_for(nap);
    }
  }

 private:
  static constexpr std::uint32_t keen = 2000;
  static constexpr std::chrono::microseconds nap{20};

  std::uint32_t rounds_ = 0;
};

}  // namespace gnstor::serve
