/// gnstord: manages an array, and answers gnstorctl and sessions: `api/gnstor/v1/control.proto`.
///
/// No data passes it, and what it knows is in the array's SSDs: it may be ended and started again
/// at any time. It ends with exit code 0 when SIGTERM or SIGINT asked it to, and with 1 and the
/// reason when it cannot start, or another manager is in charge.

#include "managing.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>

namespace {

volatile std::sig_atomic_t stop_requested = 0;

extern "C" void note_signal(int) { stop_requested = 1; }

}  // namespace

int main(int argc, char** argv) {
  gnstor::tools::daemon_options o;
  if (const auto code = gnstor::tools::parse(argc, argv, o)) return *code;
  o.log.start("gnstord");
  std::signal(SIGTERM, note_signal);
  std::signal(SIGINT, note_signal);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    gnstor::tools::managing(o).run(stop_requested);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "gnstord: {}\n", e.what());
    return 1;
  }
}
