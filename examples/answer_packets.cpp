#include <gnstor/host/address_text.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/packet_flow.hpp>
#include <gnstor/packet/answering_host.hpp>

#include <command_line/command_line.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

namespace host = gnstor::host;

namespace {

/// Waits for SIGINT or SIGTERM, or a while, and stops the flow.
void stop_later(host::packet_flow& flow, const sigset_t& ends, std::uint32_t seconds) {
  const timespec limit{static_cast<time_t>(seconds), 0};
  int which = 0;
  if (seconds == 0) {
    (void)sigwait(&ends, &which);
  } else {
    (void)sigtimedwait(&ends, nullptr, &limit);
  }
  flow.stop();
}

}  // namespace

int main(int argc, char** argv) try {
  std::string endpoint = "tap:gnstor0";
  std::string address = "10.64.0.2";
  std::uint32_t seconds = 0;
  host::packet_flow_options o;
  o.send_port = 0;  // answers leave where the questions came from
  o.depth = 64;
  o.turn = 16;
  o.buffers = 512;
  gnstor::tools::command_line line("Answers ARP, ping and UDP datagrams to port 7, from kernels");
  line.option("--endpoint", endpoint, "the NIC").show_default();
  line.option("--address", address, "the IPv4 address that it answers for").show_default();
  line.option("--seconds", seconds, "how long; 0: until SIGINT or SIGTERM").show_default();
  line.option("--depth", o.depth, "descriptors per ring").show_default();
  line.option("--turn", o.turn, "of these, with one write of the tail").show_default();
  line.option("--buffers", o.buffers, "packet buffers").show_default();
  line.option("--buffer-bytes", o.buffer_bytes, "of each, 2048 to 16384").show_default();
  if (const auto code = line.parse(argc, argv)) return *code;
  const auto ours = host::parse_ipv4(address);
  if (!ours)
    throw host::input_error("--address " + address + ": use an IPv4 address, such as 10.64.0.2");

  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // of all threads: one waits for them
  host::nic nic(endpoint);
  host::executor kernels;
  host::packet_flow flow(nic, o);
  flow.spawn(kernels, gnstor::answering_host{nic.address(0), *ours});
  nic.attach(kernels);
  for (const std::string& note : nic.notes()) std::printf("%s\n", note.c_str());
  std::printf("answering for %s\n", address.c_str());
  std::fflush(stdout);
  std::thread stopper(stop_later, std::ref(flow), std::cref(ends), seconds);
  kernels.run();
  stopper.join();

  using gnstor::packet_cause;
  const auto n = [&flow](packet_cause c) { return static_cast<unsigned long long>(flow.count(c)); };
  std::printf(
      "%llu frames received, %llu answered; dropped: %llu malformed, %llu with a wrong "
      "checksum, %llu unsupported, %llu for others\n",
      n(packet_cause::received), n(packet_cause::sent), n(packet_cause::malformed),
      n(packet_cause::wrong_checksum), n(packet_cause::unsupported), n(packet_cause::not_for_us));
  const bool all = n(packet_cause::received) == n(packet_cause::sent) + n(packet_cause::dropped);
  std::printf("%s\n", all ? "each frame is in one account: right" : "frames are missing");
  return all ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "answer_packets: %s\n", e.what());
  return 1;
}
