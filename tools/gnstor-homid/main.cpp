/// gnstor-homid: owns an NVMe controller of this machine, and lends its I/O queues to processes:
/// endpoint homi:NAME. It takes them back when a process ends, however it ends.
///
/// It ends with exit code 0 when SIGTERM or SIGINT asked it to, and with 1 and the reason when it
/// cannot start.

#include <emulated/open_emulated.hpp>
#include <gnstor/host/endpoint.hpp>
#include <gnstor/host/error.hpp>
#include <serve/homi/orchestrator.hpp>
#if defined(GNSTOR_WITH_METRICS)
#include <serve/metrics/homi_metrics.hpp>
#include <serve/metrics/metrics_server.hpp>
#endif

#include <command_line/command_line.hpp>
#include <fmt/format.h>
#include <homi/homi_client.hpp>
#include <local/pcie_nvme.hpp>
#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <thread>

namespace {

namespace host = gnstor::host;
using gnstor::serve::orchestrator;

struct wanted {
  std::string controller;
  std::string name = "default";
  std::uint32_t queues = 8;
  std::uint64_t memory = 1ull << 30;
  std::uint32_t pieces = 16;
  std::uint32_t clients = 64;
  std::string metrics;  ///< HOST:PORT; empty: nowhere
};

std::unique_ptr<host::nvme_device> open_controller(const std::string& text) {
  const host::endpoint where = host::endpoint::parse(text);
  // As many queues as it has: channels and one.
  const host::session_options all{.client = host::machine::cpu,
                                  .channels = host::homi::most_queues - 1};
  const bool several = (where.nvme && where.nvme->controllers != 1) ||
                       (where.pcie && where.pcie->addresses.size() != 1);
  if (several)
    throw host::input_error(text + ": a daemon lends one controller: start one daemon for each");
  if (where.nvme) return host::open_emulated_nvme(*where.nvme, all);
  if (where.pcie) {
    const host::pcie::pci_function f(*host::pcie::pci_address::parse(where.pcie->addresses[0]));
    return std::make_unique<host::pcie_nvme>(
        f, host::pcie::path_choice::of(f, host::pcie_endpoint::path_kind::device), all);
  }
  throw host::input_error(text + ": expected nvme://ADDRESS or emu-nvme:?..., a local controller");
}

/// The folder of sockets belongs to this user; others come in as its mode lets them.
void make_folder(const std::string& socket) {
  std::error_code problem;
  std::filesystem::create_directories(std::filesystem::path(socket).parent_path(), problem);
}

/// Starts to answer Prometheus, where that is wanted; null elsewhere. Throws `error`.
std::shared_ptr<void> serve_metrics(const wanted& w, [[maybe_unused]] const orchestrator& of) {
  if (w.metrics.empty()) return nullptr;
#if defined(GNSTOR_WITH_METRICS)
  auto answers = std::make_shared<gnstor::serve::metrics_server>(
      w.metrics, std::make_shared<gnstor::serve::homi_metrics>(of));
  fmt::print("metrics http://{}/metrics\n", answers->address());
  return answers;
#else
  throw host::error(
      "--metrics: this build of gnstor has no prometheus-cpp: install prometheus-cpp-dev, then "
      "configure it again");
#endif
}

int serve(const wanted& w) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // every thread's: one waits for them
  orchestrator::options o;
  o.socket = host::homi::socket_path(w.name);
  o.queues = w.queues;
  o.bytes = w.memory;
  o.pieces = w.pieces;
  o.clients = w.clients;
  o.log = [](const std::string& line) { fmt::print(stderr, "gnstor-homid: {}\n", line); };
  make_folder(o.socket);
  orchestrator all(open_controller(w.controller), o);
  for (const std::string& note : all.notes()) fmt::print(stderr, "gnstor-homid: {}\n", note);
  const std::shared_ptr<void> metrics = serve_metrics(w, all);
  fmt::print("ready: homi:{}\n", w.name);
  std::fflush(stdout);
  std::thread waiter([&] {
    int signal = 0;
    sigwait(&signals, &signal);
    all.stop();
  });
  all.serve();
  waiter.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  wanted w;
  gnstor::tools::command_line line("Lends the I/O queues of an NVMe controller to processes");
  line.option("--controller", w.controller,
              "nvme://0000:01:00.0, bound to vfio-pci (gnstorctl local bind), or emu-nvme:?...")
      .required();
  line.option("--name", w.name, "for endpoints homi:NAME; or the path of a socket").show_default();
  line.option("--queues", w.queues, "of a process at most").range(1, 65).show_default();
  line.option("--memory", w.memory, "bytes that a process shares at most (takes K, M, G)").size();
  line.option("--pieces", w.pieces, "in so many pieces").range(1, 4096).show_default();
  line.option("--clients", w.clients, "processes at a time").range(1, 256).show_default();
  line.option("--metrics", w.metrics,
              "HOST:PORT: answers Prometheus there, whoever asks (GET /metrics)");
  line.config_file();
  if (const auto code = line.parse(argc, argv)) return *code;
  return serve(w);
} catch (const std::exception& e) {
  fmt::print(stderr, "gnstor-homid: {}\n", e.what());
  return 1;
}
