#include "log_limit.hpp"

#include "log.hpp"

#include <new>
#include <utility>

namespace gnstor::host {

void log_limit::log(log_level level, const std::string& message,
                    std::chrono::steady_clock::time_point now) noexcept {
  std::uint64_t dropped = 0;
  {
    const std::lock_guard held(one_at_a_time_);
    if (now - since_ >= std::chrono::seconds(1)) {
      since_ = now;
      said_ = 0;
    }
    if (said_ == per_second_) {
      ++dropped_;
      return;
    }
    ++said_;
    dropped = std::exchange(dropped_, 0);
  }
  try {
    host::log(level, dropped == 0 ? message
                                  : message + " (" + std::to_string(dropped) +
                                        " messages before it were too many)");
  } catch (const std::bad_alloc&) {
    host::log(level, message);
  }
}

}  // namespace gnstor::host
