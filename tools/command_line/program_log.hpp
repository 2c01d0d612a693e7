#pragma once

#include <gnstor/host/log.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace gnstor::tools {

class command_line;

/// What a program that serves says on stderr, and how: `--log-level`, `--log-format`, `--quiet`.
struct program_log {
  using clock = std::chrono::system_clock;

  std::string level = "info";
  std::string format = "auto";
  bool quiet = false;

  void add_to(command_line& line);
  /// Has the library say its messages so from now on, by the name of `program`.
  void start(const std::string& program) const;

  /// A message as a line of a format, without a line end.
  /// @param format plain ("program: message"), time (the same behind a time of the day and the
  /// level), journal (the same behind systemd's "<4>"), or json
  static std::string line(std::string_view format, std::string_view program, host::log_level level,
                          std::string_view message, clock::time_point now = clock::now());
  /// The format that "auto" is: journal where systemd's journal reads stderr, else plain.
  static std::string format_for_stderr();
};

}  // namespace gnstor::tools
