#pragma once

#include <gnstor/host/log.hpp>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace gnstor::host {

/// Keeps what somebody else can provoke from filling the log: so many messages a second pass, and
/// the first one of a later second says how many did not. Any thread.
class log_limit {
 public:
  explicit log_limit(std::uint32_t per_second) : per_second_(per_second) {}

  /// Says `message`, or counts it.
  void log(log_level level, const std::string& message,
           std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now()) noexcept;

 private:
  std::mutex one_at_a_time_;
  std::uint32_t per_second_;
  std::uint32_t said_ = 0;
  std::uint64_t dropped_ = 0;
  std::chrono::steady_clock::time_point since_{};
};

}  // namespace gnstor::host
