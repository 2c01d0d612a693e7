#include <gnstor/host/address_text.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/key_value_table.hpp>
#include <gnstor/host/packet_flow.hpp>
#include <gnstor/packet/key_value_server.hpp>

#include <command_line/command_line.hpp>
#include <support/key_value_client.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace host = gnstor::host;

namespace {

using support::key_value_talk;

struct settings {
  std::string endpoint = "emu-nic:?ports=2&loopback=0&frames=0";
  std::string address = "10.64.0.2";
  std::string clients;
  std::uint32_t seconds = 0;
  host::key_value_options size;
  support::key_value_load load{.requests = 20'000};
  host::packet_flow_options flow{.send_port = 0, .depth = 16, .turn = 4, .buffers = 64};
};

unsigned long long wide(std::uint64_t n) { return n; }

/// Frames whose fate is known.
std::uint64_t ended(const host::packet_flow& flow) {
  return flow.count(gnstor::packet_cause::sent) + flow.count(gnstor::packet_cause::dropped);
}

/// Prints what was asked and answered. True if each frame is in one account.
bool report(const host::key_value_table& table, const host::packet_flow& flow) {
  using gnstor::packet_cause;
  const gnstor::key_value_counts c = table.counts();
  std::printf(
      "%llu gets (%llu hits), %llu sets (%llu stored), %llu items, %llu evictions, %llu "
      "gave up\n",
      wide(c.cmd_get), wide(c.get_hits), wide(c.cmd_set), wide(c.total_items), wide(c.curr_items),
      wide(c.evictions), wide(c.busy));
  std::printf("%llu frames received, %llu answered, %llu dropped\n",
              wide(flow.count(packet_cause::received)), wide(flow.count(packet_cause::sent)),
              wide(flow.count(packet_cause::dropped)));
  return flow.count(packet_cause::received) == ended(flow);
}

/// Keeps the table's clock, and looks each millisecond whether a signal came, the time is over or
/// nothing more is to be done.
void watch(host::key_value_table& table, const sigset_t& ends, std::uint32_t seconds,
           const std::function<bool()>& is_over) {
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t round = 0;; ++round) {
    if (round % 250 == 0) table.set_clock();
    const timespec moment{0, 1'000'000};
    if (sigtimedwait(&ends, nullptr, &moment) > 0 || is_over()) return;
    const auto passed = std::chrono::steady_clock::now() - start;
    if (seconds != 0 && passed >= std::chrono::seconds(seconds)) return;
  }
}

/// Of "10.0.0.0/8"; without one the /24 that an address is in.
gnstor::ipv4_prefix network_of(const std::string& text, std::uint32_t own) {
  if (text.empty()) return {own, 24};
  const std::size_t slash = text.find('/');
  const auto address = host::parse_ipv4(text.substr(0, slash));
  const auto bits = slash == text.npos ? std::optional<std::uint64_t>(32)
                                       : host::parse_number(text.substr(slash + 1));
  if (!address || !bits || *bits > 32)
    throw host::input_error("--clients " + text + ": use a network, such as 10.0.0.0/8");
  return {*address, static_cast<std::uint32_t>(*bits)};
}

/// True if all is well.
bool serve(settings& s) {
  const auto ours = host::parse_ipv4(s.address);
  if (!ours) throw host::input_error("--address " + s.address + ": use an IPv4 address");
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // of all threads: one waits for them
  host::nic nic(s.endpoint);
  host::key_value_table table(nic, s.size);
  gnstor::key_value_server server{table.ref(), nic.address(0), *ours};
  server.clients = network_of(s.clients, *ours);
  std::printf("%llu slots for values up to %u bytes: %.1f MiB\n", wide(s.size.slots),
              s.size.value_bytes, static_cast<double>(table.bytes()) / (1 << 20));

  host::executor kernels;
  const host::memory_block talk = nic.allocate(sizeof(key_value_talk));
  std::optional<host::packet_flow> asking;
  std::optional<host::packet_flow> serving;
  if (s.endpoint.starts_with("emu-nic:")) {
    if (s.load.window == 0 || s.load.window > support::key_value_load::most_window)
      throw host::input_error("--window: use 1 to 32768 requests at a time");
    // Requests leave by port 0, whose wire brings them back; answers leave by port 1.
    s.load.talk = static_cast<key_value_talk*>(talk.data());
    s.load.server = *ours;
    s.load.client = *ours ^ 3;
    s.load.server_mac = server.mac;
    s.load.value_bytes = std::min(s.load.value_bytes, s.size.value_bytes);
    host::packet_flow_options o = s.flow;
    o.receive_port = o.no_port;
    o.applications = 0;
    asking.emplace(nic, o).spawn_source(kernels, support::key_value_requests{s.load},
                                        ~std::uint64_t{0});
    s.flow.send_port = 1;
    s.flow.applications = 2;
    serving.emplace(nic, s.flow).spawn(kernels, server, support::key_value_answers{s.load});
    if (s.seconds == 0) s.seconds = 100;
  } else {
    serving.emplace(nic, s.flow).spawn(kernels, server);
  }
  nic.attach(kernels);
  for (const std::string& note : nic.notes()) std::printf("%s\n", note.c_str());
  std::printf("serving on %s, port %u\n", s.address.c_str(), server.port);
  std::fflush(stdout);
  const auto start = std::chrono::steady_clock::now();
  std::thread stopper([&] {
    watch(table, ends, s.seconds, [&] { return asking && ended(*serving) >= s.load.requests; });
    if (asking) asking->stop();
    serving->stop();
  });
  kernels.run();
  stopper.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  bool is_right = report(table, *serving);
  if (asking) {
    const auto seen = std::make_unique<key_value_talk>();
    talk.read(0, seen.get(), sizeof *seen);
    const bool may_miss = table.counts().evictions != 0;
    is_right = seen->report(s.load.requests, took.count(), may_miss) && is_right;
  }
  std::printf("%s\n", is_right ? "each request is in one account: right" : "not all is well");
  return is_right;
}

}  // namespace

int main(int argc, char** argv) try {
  settings s;
  if (host::this_machine == host::machine::gpu) s.flow = {.send_port = 0};
  gnstor::tools::command_line line("Serves keys and values by memcached's UDP protocol");
  line.option("--endpoint", s.endpoint, "the NIC; on emu-nic: it asks itself").show_default();
  line.option("--address", s.address, "the IPv4 address that it answers for").show_default();
  line.option("--clients", s.clients, "whom it answers, as 10.0.0.0/8; without: its own /24");
  line.option("--slots", s.size.slots, "items at most: 2^n").show_default();
  line.option("--value-bytes", s.size.value_bytes, "longest value, to 1152").show_default();
  line.option("--requests", s.load.requests, "on emu-nic:, and then it ends").show_default();
  line.option("--window", s.load.window, "of these at a time").show_default();
  line.option("--seconds", s.seconds, "how long; 0: until SIGINT or SIGTERM").show_default();
  line.option("--depth", s.flow.depth, "descriptors per ring; 0: the NIC's").show_default();
  line.option("--turn", s.flow.turn, "of these, with one write of the tail").show_default();
  line.option("--buffers", s.flow.buffers, "packet buffers").show_default();
  if (const auto code = line.parse(argc, argv)) return *code;
  return serve(s) ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "serve_keys: %s\n", e.what());
  return 1;
}
