#include <gnstor/host/address_text.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/intrusion_detection.hpp>
#include <gnstor/host/packet_flow.hpp>

#include <command_line/command_line.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

namespace host = gnstor::host;

namespace {

unsigned long long wide(std::uint64_t n) { return n; }

void print(const gnstor::intrusion_alert& a, const host::rule_set& rules) {
  const gnstor::packet_flow_key& k = a.key;
  std::printf("[%u:%u] %s%s: protocol %u, %s:%u -> %s:%u\n", a.sid, a.revision,
              a.action == gnstor::intrusion_rule::drop ? "dropped: " : "",
              rules[a.rule].message.c_str(), k.protocol, host::ipv4_text(k.source).c_str(),
              k.source_port, host::ipv4_text(k.destination).c_str(), k.destination_port);
}

/// Prints what became of the frames. True if each is in one account.
bool report(const host::intrusion_detection& detection, const host::packet_flow& flow,
            std::uint64_t alerts) {
  using gnstor::packet_cause;
  const gnstor::intrusion_counts c = detection.counts();
  std::printf("%llu frames: %llu inspected, %llu not IPv4, %llu malformed, %llu fragments\n",
              wide(flow.count(packet_cause::received)), wide(c.inspected), wide(c.not_ipv4),
              wide(c.malformed), wide(c.fragments));
  std::printf("%llu alerts, %llu lost, %llu frames passed by a rule, %llu dropped by one\n",
              wide(alerts), wide(detection.lost()), wide(c.passed), wide(c.dropped));
  return flow.count(packet_cause::received) == c.inspected + c.not_ipv4 + c.malformed + c.fragments;
}

}  // namespace

int main(int argc, char** argv) try {
  std::string endpoint = "emu-nic:?ports=2", rules_file;
  std::uint32_t seconds = 0;
  host::intrusion_options inspection;
  host::packet_flow_options o;
  o.send_port = host::packet_flow_options::no_port;
  o.depth = 64;
  o.turn = 16;
  o.buffers = 512;
  gnstor::tools::command_line line("Compares packets with rules as Snort's, from kernels");
  line.option("--endpoint", endpoint, "the NIC; pcap:FILE plays a capture").show_default();
  line.option("--rules", rules_file, "a file of them, one per line");
  line.option("--send-port", o.send_port, "where frames go on; without it they end here");
  line.option("--alerts", inspection.alerts, "that wait for the CPU: 2^n").show_default();
  line.option("--depth", o.depth, "descriptors per ring").show_default();
  line.option("--turn", o.turn, "of these, with one write of the tail").show_default();
  line.option("--seconds", seconds, "stops then; 0: when the endpoint's frames are through");
  if (const auto code = line.parse(argc, argv)) return *code;
  if (rules_file.empty())
    throw host::input_error("no rules: give --rules FILE, see docs/packet-inspection.md");

  const host::rule_set rules = host::rule_set::read(rules_file);
  inspection.lanes = o.depth;
  const host::intrusion_detection detection(rules, inspection);
  host::nic nic(endpoint);
  host::packet_flow flow(nic, o);
  host::executor kernels;
  flow.spawn(kernels, detection.detector());
  nic.attach(kernels);
  for (const std::string& note : nic.notes()) std::printf("%s\n", note.c_str());
  std::printf("%zu rules\n", rules.size());
  std::fflush(stdout);
  std::atomic<bool> is_over = false;
  std::uint64_t alerts = 0;
  std::thread reader([&] {  // while kernels run, and what is left behind them
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    for (bool is_last = false; !is_last;) {
      is_last = is_over;
      if (seconds != 0 && std::chrono::steady_clock::now() >= end) flow.stop();
      // Not all of them at once: whoever sends them does not keep this from ending.
      gnstor::intrusion_alert a;
      for (int most = 4096; (is_last || most != 0) && detection.next(a); --most, ++alerts)
        print(a, rules);
      if (!is_last) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  try {
    kernels.run();
  } catch (...) {
    is_over = true;
    reader.join();
    throw;
  }
  is_over = true;
  reader.join();
  const bool all = report(detection, flow, alerts);
  std::printf("%s\n", all ? "each frame is in one account: right" : "frames are missing");
  return all ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "detect_intrusions: %s\n", e.what());
  return 1;
}
