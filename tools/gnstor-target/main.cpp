/// gnstor-target: serves an emulated array as an NVMe-oF target over RDMA, to GNStor's own clients
/// and, a subsystem for each volume, to any standard host.
///
/// With flash=DIR, what was acknowledged survives the end of this process, however it ends. A power
/// cut or a crash of the serving machine leaves what was flushed: the files are mapped, and the
/// kernel writes the rest when it likes. So a volatile write cache is announced, and Flush and FUA
/// wait for the disk; with sync=no, and without files, there is none.
///
/// It ends with exit code 0 when SIGTERM or SIGINT asked it to, and with 1 and the reason when it
/// cannot start, or the array's firmware has failed.

#include "options.hpp"
#include "serve.hpp"
#include "serving.hpp"

#include <csignal>
#include <cstdio>

namespace {

volatile std::sig_atomic_t stop_requested = 0;

extern "C" void note_signal(int) { stop_requested = 1; }

}  // namespace

int main(int argc, char** argv) {
  gnstor::tools::target_options options;
  if (const std::optional<int> done = gnstor::tools::parse(argc, argv, options)) return *done;
  options.log.start("gnstor-target");
  std::signal(SIGTERM, note_signal);
  std::signal(SIGINT, note_signal);
  std::signal(SIGPIPE, SIG_IGN);
  return gnstor::tools::serve([&] { return gnstor::tools::serving(options); }, stop_requested,
                              stdout, stderr);
}
