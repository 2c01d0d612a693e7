#include <gnstor/host/address_text.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/packet_flow.hpp>
#include <gnstor/host/route_table.hpp>
#include <gnstor/packet/ipv4_router.hpp>

#include <command_line/command_line.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace host = gnstor::host;
namespace ether = gnstor::wire::ethernet;

/// Behind the router: writes down which address it sent to which next hop, for this CPU to compare.
struct witness {
  std::uint64_t* log;  ///< a count, and what is counted: an address and a gateway each
  std::uint64_t most;

  template <class Lane>
  GNSTOR_HD gnstor::packet_verdict receive(Lane&, gnstor::packet p) {
    const auto* frame = p.header<ether::ethernet_header>(0);
    const auto* ip = p.header<ether::ipv4_header>(sizeof *frame);
    const std::uint64_t k = gnstor::system_word<std::uint64_t>(*log).fetch_add(1, gnstor::relaxed);
    std::uint32_t gateway = 0;  // the last four bytes of its hardware address
    for (int byte = 2; byte < 6; ++byte) gateway = gateway << 8 | frame->destination.byte[byte];
    if (k < most) log[1 + k] = std::uint64_t{ip->destination} << 32 | gateway;
    return gnstor::packet_verdict::forward;
  }
};

namespace {

/// For routes that were drawn: gateways whose hardware address says which one it is.
host::neighbour_list named_after(const host::route_list& routes) {
  host::neighbour_list all;
  for (const host::route& r : routes.all()) {
    const auto byte = [&r](int k) { return static_cast<std::uint8_t>(r.gateway >> 8 * k); };
    all.add({r.gateway, {{2, 0, byte(3), byte(2), byte(1), byte(0)}}});
  }
  return all;
}

/// What the witness saw, against routes looked up one length after another: how many are wrong.
std::uint64_t wrong_hops(const std::vector<std::uint64_t>& log, const host::route_list& routes) {
  std::uint64_t wrong = 0;
  for (std::size_t k = 1; k < log.size() && k <= log[0]; ++k) {
    const host::route* const r = routes.find(static_cast<std::uint32_t>(log[k] >> 32));
    wrong += r == nullptr || r->gateway != static_cast<std::uint32_t>(log[k]);
  }
  return wrong;
}

/// Prints what became of the packets. True if each is in one account.
bool report(const host::packet_flow& flow, double seconds) {
  using gnstor::packet_cause;
  const auto n = [&flow](packet_cause c) { return static_cast<unsigned long long>(flow.count(c)); };
  std::printf("%llu received, %llu sent in %.2f s, %llu of them ICMP errors\n",
              n(packet_cause::received), n(packet_cause::sent), seconds,
              n(packet_cause::icmp_errors));
  std::printf(
      "%llu dropped or sent back: no route %llu, no neighbour %llu, time to live %llu, too long "
      "%llu, martian %llu, malformed %llu, checksum %llu, unsupported %llu, for others "
      "%llu\n",
      n(packet_cause::dropped) + n(packet_cause::icmp_errors), n(packet_cause::no_route),
      n(packet_cause::no_neighbour), n(packet_cause::hop_limit), n(packet_cause::too_big),
      n(packet_cause::martian), n(packet_cause::malformed), n(packet_cause::wrong_checksum),
      n(packet_cause::unsupported), n(packet_cause::not_for_us));
  return n(packet_cause::received) == n(packet_cause::sent) + n(packet_cause::dropped);
}

}  // namespace

int main(int argc, char** argv) try {
  std::string endpoint = "emu-nic:?destinations=any", routes_file, neighbours_file, address;
  host::drawn_routes drawn;
  std::uint32_t seconds = 0;
  host::packet_flow_options o{.applications = 2};
  gnstor::tools::command_line line("Routes IPv4 packets by the longest prefix, from kernels");
  line.option("--endpoint", endpoint, "the NIC").show_default();
  line.option("--routes", routes_file, "what 'ip route show' prints, or lines PREFIX GATEWAY");
  line.option("--neighbours", neighbours_file, "what 'ip neigh show' prints, or ADDRESS MAC");
  line.option("--generate", drawn.count, "without --routes: prefixes to draw").show_default();
  line.option("--seed", drawn.seed, "of these").show_default();
  line.option("--address", address, "its own: it answers ARP and ping, and sends ICMP errors");
  line.option("--send-port", o.send_port, "0: one arm, out of where they came in").show_default();
  line.option("--depth", o.depth, "descriptors per ring; 0: the NIC's");
  line.option("--turn", o.turn, "of these, with one write of the tail").show_default();
  line.option("--seconds", seconds, "stops then; 0: when the generator's frames are through");
  if (const auto code = line.parse(argc, argv)) return *code;
  const auto own = host::parse_ipv4(address.empty() ? "0.0.0.0" : address);
  if (!own) throw host::input_error("--address " + address + ": use an IPv4 address");

  host::nic nic(endpoint);
  const host::route_list routes =
      routes_file.empty() ? host::route_list::draw(drawn) : host::route_list::read(routes_file);
  const host::route_table table(
      nic, routes,
      neighbours_file.empty() ? named_after(routes) : host::neighbour_list::read(neighbours_file));
  std::printf("%zu routes, %u next hops, %u networks of /24 with longer prefixes: %.1f MiB\n",
              routes.all().size(), table.ref().hop_count(), table.ref().groups(),
              static_cast<double>(table.bytes()) / (1 << 20));
  gnstor::ipv4_router router{table.ref(), nic.address(o.receive_port), *own};
  router.is_one_armed = o.send_port == o.receive_port;
  // Answers go to no next hop, and the neighbours of a file have any hardware address.
  std::vector<std::uint64_t> log(1);
  if (neighbours_file.empty() && !router.is_one_armed) log.resize(1 + (1 << 20));
  const host::memory_block seen = nic.allocate(log.size() * sizeof log[0]);
  host::packet_flow flow(nic, o);
  host::executor kernels;
  flow.spawn(kernels, router, witness{static_cast<std::uint64_t*>(seen.data()), log.size() - 1});
  nic.attach(kernels);
  for (const std::string& note : nic.notes()) std::printf("%s\n", note.c_str());
  std::fflush(stdout);
  const auto start = std::chrono::steady_clock::now();
  std::thread stopper([&flow, seconds] {
    if (seconds == 0) return;
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    flow.stop();
  });
  kernels.run();  // until all frames of the generator have come out again, or somebody stops it
  stopper.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;

  const bool all = report(flow, took.count());
  // Throws unless each frame came out once, in order, and as it came; not each has a route.
  if (flow.count(gnstor::packet_cause::dropped) == 0) nic.check();
  seen.read(0, log.data(), log.size() * sizeof log[0]);
  const std::uint64_t wrong = wrong_hops(log, routes);
  std::printf("%llu next hops compared, %llu are wrong: %s\n",
              static_cast<unsigned long long>(std::min(log[0], log.size() - 1)),
              static_cast<unsigned long long>(wrong),
              wrong == 0 && all ? "right" : "not all is well");
  return wrong == 0 && all ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "route_packets: %s\n", e.what());
  return 1;
}
