#include <gnstor/host/executor.hpp>
#include <gnstor/host/packet_flow.hpp>
#include <gnstor/wire/ethernet/ethernet_header.hpp>
#include <gnstor/wire/ethernet/internet_checksum.hpp>

#include <command_line/command_line.hpp>

#include <chrono>
#include <cstdio>
#include <deque>
#include <string>
#include <thread>

namespace host = gnstor::host;
namespace ether = gnstor::wire::ethernet;

// [snippet
/// Sends each IPv4 packet to the next hop, as a router does: other hardware addresses, one hop
/// less, the header's checksum updated.
struct next_hop {
  ether::mac_address mine;
  ether::mac_address next;

  template <class Lane>
  GNSTOR_HD gnstor::packet_verdict receive(Lane&, gnstor::packet p) {
    auto* frame = p.header<ether::ethernet_header>(0);
    auto* ip = p.header<ether::ipv4_header>(sizeof *frame);
    if (ip == nullptr || !frame->is(ether::ether_type::ipv4) || ip->time_to_live <= 1)
      return gnstor::packet_verdict::drop;
    const auto hops = [ip] {  // the word that the time to live is in
      return ether::network16::of(static_cast<std::uint16_t>(ip->time_to_live << 8 | ip->protocol));
    };
    const ether::network16 before = hops();
    --ip->time_to_live;
    ip->checksum = ether::updated_checksum(ip->checksum, before, hops());
    frame->destination = next;
    frame->source = mine;
    return gnstor::packet_verdict::forward;
  }
};
// snippet]

int main(int argc, char** argv) try {
  std::string endpoint = "emu-nic:?ports=2";
  std::uint32_t seconds = 0;
  host::packet_flow_options o;
  gnstor::tools::command_line line("Forwards packets between the ports of a NIC, from kernels");
  line.option("--endpoint", endpoint, "the NIC").show_default();
  line.option("--depth", o.depth, "descriptors per ring; 0: the NIC's");
  line.option("--turn", o.turn, "of these, with one write of the tail").show_default();
  line.option("--buffers", o.buffers, "packet buffers of each way").show_default();
  line.option("--seconds", seconds, "stops then; 0: when the generators' frames are through");
  if (const auto code = line.parse(argc, argv)) return *code;

  host::nic nic(endpoint);
  host::executor kernels;
  std::deque<host::packet_flow> ways;  // from each port to the next one, by each ring pair
  for (std::uint32_t way = 0; way < nic.ports() * nic.queues(); ++way) {
    o.receive_port = way / nic.queues();
    o.send_port = (o.receive_port + 1) % nic.ports();
    o.receive_queue = o.send_queue = way % nic.queues();
    const auto last = static_cast<std::uint8_t>(o.receive_port);
    ways.emplace_back(nic, o).spawn(kernels,
                                    next_hop{{{2, 0, 0, 0, 3, last}}, {{2, 0, 0, 0, 4, last}}});
  }
  nic.attach(kernels);
  const auto start = std::chrono::steady_clock::now();
  std::thread stopper([&ways, seconds] {
    if (seconds == 0) return;
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    for (host::packet_flow& way : ways) way.stop();
  });
  kernels.run();  // until all frames of the generators have come out again, or somebody stops it
  stopper.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;

  std::uint64_t sent = 0;
  for (std::uint32_t port = 0; port < nic.ports(); ++port) {
    const host::nic_statistics s = nic.statistics(port);
    std::printf("port %u: %llu frames came, %llu of them new and sound, %llu came out again\n",
                port, static_cast<unsigned long long>(s.delivered),
                static_cast<unsigned long long>(s.given),
                static_cast<unsigned long long>(s.came_out));
    for (std::uint32_t q = 0; nic.queues() > 1 && q < nic.queues(); ++q) {
      std::printf("  ring pair %u: %llu received, %llu sent\n", q,
                  static_cast<unsigned long long>(s.queues[q].delivered),
                  static_cast<unsigned long long>(s.queues[q].sent));
    }
    sent += s.sent;
  }
  nic.check();  // throws unless each came out once, in order, and as it came
  std::printf("%llu frames were forwarded in %.2f s: right\n",
              static_cast<unsigned long long>(sent), took.count());
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "forward_packets: %s\n", e.what());
  return 1;
}
