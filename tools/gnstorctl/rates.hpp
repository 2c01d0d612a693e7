#pragma once

#include <gnstor/v1/control.pb.h>

#include <chrono>
#include <optional>
#include <string>

namespace gnstor::tools {

/// What has changed since the answer before, for `--watch`: the rates of volumes and of repairs,
/// and how long these have yet to go. Of the first answer it says what it says, as there is none
/// before.
class rates {
 public:
  using clock = std::chrono::steady_clock;

  /// As `gnstor::tools::traffic_text`; commands and bytes per second from the second answer on.
  std::string traffic_text(const v1::TrafficList& now, clock::time_point when = clock::now());
  /// As `gnstor::tools::array_text`.
  std::string array_text(const v1::Array& now, clock::time_point when = clock::now());

 private:
  /// Seconds since the answer before; 0: there was none.
  double since(clock::time_point when);

  std::optional<clock::time_point> before_;
  v1::TrafficList traffic_;
  v1::Array array_;
};

}  // namespace gnstor::tools
