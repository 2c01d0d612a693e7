/// gnstor-target: serves an emulated array as an NVMe-oF target over RDMA, to GNStor's own clients
/// and, a subsystem for each volume, to any standard host.
///
/// With flash=DIR, what was acknowledged survives the end of this process, however it ends. A power
/// cut or a crash of the serving machine leaves what was flushed: the files are mapped, and the
/// kernel writes the rest when it likes. So a volatile write cache is announced, and Flush and FUA
/// wait for the disk; with sync=no, and without files, there is none.

#include "options.hpp"
#include "serving.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>

namespace {

volatile std::sig_atomic_t told_to_stop = 0;

extern "C" void note_signal(int) { told_to_stop = 1; }

}  // namespace

int main(int argc, char** argv) {
  gnstor::tools::target_options options;
  if (const std::optional<int> done = gnstor::tools::parse(argc, argv, options)) return *done;
  std::signal(SIGTERM, note_signal);
  std::signal(SIGINT, note_signal);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    gnstor::tools::serving target(options);
    target.say_ready();
    for (; told_to_stop == 0;) target.run_for(std::chrono::milliseconds(200));
    fmt::print("stopping\n");
    std::fflush(stdout);
  } catch (const std::exception& e) {
    fmt::print(stderr, "gnstor-target: {}\n", e.what());
    return 1;
  }
  return 0;
}
