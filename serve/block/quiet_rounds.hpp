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
  /// True where one that is woken should sleep.
  bool is_long() const { return rounds_ >= few; }
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
  static constexpr std::uint32_t few = 150;
  static constexpr std::uint32_t keen = 2000;
  static constexpr std::chrono::microseconds nap{20};

  std::uint32_t rounds_ = 0;
};

}  // namespace gnstor::serve
