/// gnstord: manages an array, and answers gnstorctl and sessions: `api/gnstor/v1/control.proto`.
///
/// No data passes it, and what it knows is in the array's SSDs: it may be ended and started again
/// at any time. It ends with exit code 0 when SIGTERM or SIGINT asked it to, and with 1 and the
/// reason when it cannot start.

#include <gnstor/host/endpoint.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/log.hpp>
#include <serve/manage.hpp>

#include <fmt/format.h>
#include <management/manager_options.hpp>
#include <management/readiness.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

namespace {

namespace host = gnstor::host;
namespace serve = gnstor::serve;

volatile std::sig_atomic_t stop_requested = 0;

extern "C" void note_signal(int) { stop_requested = 1; }

struct options {
  std::string array = "emu:?";
  gnstor::tools::manager_options manager;
  bool quiet = false;
};

int run(const options& o) try {
  const auto manager = serve::manage_emulated(host::endpoint::parse(o.array), o.manager.settings());
  const serve::control_server server(o.manager.listen, *manager, "", o.manager.tls);
  const auto metrics = o.manager.serve_metrics(*manager, server);
  const host::array_state a = manager->state();
  fmt::print("ready {}: {} SSDs, {} volumes\n", server.address(), a.ssds.size(), a.volumes);
  std::fflush(stdout);
  gnstor::tools::notify_supervisor("READY=1\nSTATUS=manages " + std::to_string(a.ssds.size()) +
                                   " SSDs at " + server.address());
  for (; stop_requested == 0;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    manager->check();
  }
  fmt::print("stopping\n");
  gnstor::tools::notify_supervisor("STOPPING=1");
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "gnstord: {}\n", e.what());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  gnstor::tools::command_line line(
      "Manages an array: volumes by name, leases, failed SSDs and their replacement. gnstorctl "
      "talks to it.\n"
      "An array of four emulated SSDs in a folder:\n"
      "  gnstord --array 'emu:?ssds=4&capacity=1G&flash=DIR'");
  line.option("--array", o.array, "the array's endpoint: emu:?ssds=4&capacity=1G&flash=DIR")
      .show_default();
  o.manager.add_to(line, "--listen");
  line.config_file();
  line.flag("--quiet", o.quiet, "say only what goes wrong");
  if (const auto code = line.parse(argc, argv)) return *code;
  host::set_log_level(o.quiet ? host::log_level::warning : host::log_level::info);
  host::set_log_sink(
      [](host::log_level, std::string_view words) { fmt::print(stderr, "gnstord: {}\n", words); });
  std::signal(SIGTERM, note_signal);
  std::signal(SIGINT, note_signal);
  std::signal(SIGPIPE, SIG_IGN);
  return run(o);
}
