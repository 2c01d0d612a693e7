/// gnstord: manages an array, and answers gnstorctl and sessions: `api/gnstor/v1/control.proto`.
///
/// No data passes it, and what it knows is in the array's SSDs: it may be ended and started again
/// at any time. It ends with exit code 0 when SIGTERM or SIGINT asked it to, and with 1 and the
/// reason when it cannot start.

#include "readiness.hpp"
#include <gnstor/host/endpoint.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/log.hpp>
#include <serve/control/control_server.hpp>
#include <serve/manage.hpp>

#include <command_line/command_line.hpp>
#include <fmt/format.h>

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
  std::string listen = "127.0.0.1:4422";
  std::string array = "emu:?";
  std::uint32_t lease_s = 300;
  std::uint32_t ssd_timeout_ms = 300;
  std::uint64_t repair_rate = 0;
  serve::tls_files tls;
  bool quiet = false;
};

int run(const options& o) try {
  host::manager_settings settings;
  settings.lease = std::chrono::seconds(o.lease_s);
  settings.ssd_timeout = std::chrono::milliseconds(o.ssd_timeout_ms);
  settings.repair_bytes_per_s = o.repair_rate;
  const auto manager = serve::manage_emulated(host::endpoint::parse(o.array), settings);
  const serve::control_server server(o.listen, *manager, "", o.tls);
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
  line.option("--listen", o.listen,
              "HOST:PORT or unix:PATH; without TLS, HOST is of the loopback interface")
      .show_default();
  line.option("--tls-cert", o.tls.certificate, "FILE in PEM: this daemon's certificate");
  line.option("--tls-key", o.tls.key, "FILE in PEM: its key");
  line.option("--tls-ca", o.tls.authority,
              "FILE in PEM: who signs the certificates of clients, for admin:WHO or host:NAME");
  line.option("--array", o.array, "the array's endpoint: emu:?ssds=4&capacity=1G&flash=DIR")
      .show_default();
  line.option("--lease", o.lease_s, "seconds that a host may write without renewing its lease")
      .range(1, 86'400)
      .show_default();
  line.option("--ssd-timeout", o.ssd_timeout_ms,
              "milliseconds without an answer after which an SSD has failed")
      .range(50, 60'000)
      .show_default();
  line.option("--repair-rate", o.repair_rate,
              "bytes per second that repairs write (takes K, M, G); 0: no limit")
      .size();
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
