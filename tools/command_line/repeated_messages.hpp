#pragma once

#include <gnstor/host/log.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace gnstor::tools {

/// Keeps one message from filling the log: it is said a few times a minute, and how often it was
/// left out with whatever is said next after that minute.
class repeated_messages {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr std::uint32_t most = 5;  ///< of one message a minute
  static constexpr std::size_t known = 256;

  /// Calls `say` with `message`, unless it was said often, and with what was left out of others.
  /// @par Callers one at a time
  /// @param level of the message; `say` gets that of what it is to say
  void pass(host::log_level level, std::string_view message,
            const std::function<void(host::log_level, const std::string&)>& say,
            clock::time_point now = clock::now());

 private:
  struct count {
    host::log_level level = host::log_level::info;
    clock::time_point since{};
    std::uint32_t said = 0;
    std::uint64_t left_out = 0;
  };
  std::map<std::string, count, std::less<>> counts_;
};

}  // namespace gnstor::tools
