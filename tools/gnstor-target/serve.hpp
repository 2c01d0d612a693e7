#pragma once

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>

namespace gnstor::tools {

/// Serves with what `start` makes until `stop_requested` is set. The exit code of the process: 0
/// when it was asked to stop, 1 when it could not start or cannot go on, as when the array's
/// firmware has failed. The reason is printed then.
/// @param start makes the target: `serving`, or what a test puts in its place
template <class Start>
int serve(const Start& start, const volatile std::sig_atomic_t& stop_requested, std::FILE* says,
          std::FILE* complains) {
  try {
    auto target = start();
    target.say_ready();
    for (; stop_requested == 0;) {
      target.run_for(std::chrono::milliseconds(200));
      target.check();
    }
    fmt::print(says, "stopping\n");
    std::fflush(says);
  } catch (const std::exception& e) {
    fmt::print(complains, "gnstor-target: {}\n", e.what());
    return 1;
  }
  return 0;
}

}  // namespace gnstor::tools
