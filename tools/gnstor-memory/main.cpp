/// gnstor-memory: exports memory or files of this machine, which others read and write by one-sided
/// RDMA: kernels through `host::remote_memory`, endpoint memory://HOST[:PORT]/NAME.
///
/// SIGUSR1 withdraws all regions: transfers fail from then on, and nobody is admitted. It ends with
/// exit code 0 when SIGTERM or SIGINT asked it to, and with 1 and the reason when it cannot start.

#include <gnstor/host/error.hpp>
#include <gnstor/host/mapped_endpoint.hpp>
#include <gnstor/host/memory_endpoint.hpp>
#include <gnstor/host/text_values.hpp>
#include <serve/rdma/memory_server.hpp>

#include <command_line/command_line.hpp>
#include <command_line/program_log.hpp>
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdio>

namespace {

using gnstor::serve::exported_region;
using gnstor::serve::memory_server;

volatile std::sig_atomic_t stop_requested = 0;
volatile std::sig_atomic_t withdrawal_requested = 0;

extern "C" void note_signal(int) { stop_requested = 1; }
extern "C" void note_withdrawal(int) { withdrawal_requested = 1; }

struct options {
  std::string listen = "0.0.0.0:4421";
  std::vector<std::string> regions;
  std::vector<std::string> allowed;
  std::string secret;
  gnstor::tools::program_log log;
};

/// NAME=ENDPOINT as --region takes it.
exported_region region_in(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw gnstor::host::input_error(
        fmt::format("--region {}: say NAME=file:PATH or NAME=host:?bytes=SIZE, such as "
                    "edges=file:/dev/shm/edges.bin",
                    text));
  }
  const std::string endpoint = text.substr(equals + 1);
  const bool writable = gnstor::host::mapped_endpoint::parse(endpoint).write;
  return {text.substr(0, equals),
          gnstor::host::mapped_memory(endpoint, {.client = gnstor::host::machine::cpu}), writable};
}

gnstor::host::verbs::net_address address_in(const std::string& text) {
  const auto said = gnstor::host::parse_host_port(text);
  if (!said) {
    throw gnstor::host::input_error(fmt::format(
        "--listen {}: expected ADDRESS[:PORT], an IPv6 address in brackets, a port from 1 to 65535",
        text));
  }
  return {.host = said->host,
          .port = said->port.value_or(gnstor::host::memory_endpoint::default_port)};
}

int serve(const options& o) try {
  std::vector<exported_region> regions;
  std::vector<std::string> names;
  std::vector<std::string> lines;
  const gnstor::host::verbs::net_address here = address_in(o.listen);
  for (const std::string& text : o.regions) {
    regions.push_back(region_in(text));
    names.push_back(regions.back().name);
    lines.push_back(fmt::format("{} bytes{} as memory://{}/{}\n", regions.back().memory.bytes(),
                                regions.back().writable ? "" : ", read only,", here.text(),
                                names.back()));
  }
  std::optional<gnstor::host::shared_secret> secret;
  if (!o.secret.empty()) secret = gnstor::host::shared_secret::in_file(o.secret);
  memory_server server(here, std::move(regions), {o.allowed, secret});
  for (const std::string& line : lines) fmt::print("ready: {}", line);
  std::fflush(stdout);
  for (; stop_requested == 0;) {
    server.run_for(std::chrono::milliseconds(100));
    if (withdrawal_requested == 0) continue;
    withdrawal_requested = 0;
    for (const std::string& name : names) server.withdraw(name);
    fmt::print("withdrawn\n");
    std::fflush(stdout);
  }
  fmt::print("stopping\n");
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "gnstor-memory: {}\n", e.what());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  gnstor::tools::command_line line(
      "Exports memory and files of this machine to kernels elsewhere, which read and write them by "
      "RDMA.\n"
      "A file in memory, and a gigabyte that ends with this process:\n"
      "  gnstor-memory --listen 10.0.0.2 --region edges=file:/dev/shm/edges.bin "
      "--region scratch=host:?bytes=1G\n"
      "A program then opens memory://10.0.0.2/edges by host::remote_memory.\n"
      "SIGUSR1 withdraws all regions, SIGTERM ends the program.");
  line.option("--listen", o.listen, "ADDRESS[:PORT]; [ADDRESS]:PORT for IPv6").show_default();
  line.option("--region", o.regions,
              "NAME=file:PATH or NAME=host:?bytes=SIZE; with ?write=no a file may be read alone")
      .required();
  line.option("--allow", o.allowed,
              "ADDRESS of a host that may use them, else all; may be repeated");
  line.option("--secret", o.secret,
              "FILE of 32 hexadecimal digits that clients have to know: their endpoints' secret=");
  o.log.add_to(line);
  if (const auto code = line.parse(argc, argv)) return *code;
  o.log.start("gnstor-memory");
  std::signal(SIGTERM, note_signal);
  std::signal(SIGINT, note_signal);
  std::signal(SIGUSR1, note_withdrawal);
  std::signal(SIGPIPE, SIG_IGN);
  return serve(o);
}
