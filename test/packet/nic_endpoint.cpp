/// An emulated NIC as a program opens it, served by a CPU thread and by lanes.

#include "thrown.hpp"
#include <gnstor/host/endpoint.hpp>
#include <gnstor/host/packet_flow.hpp>
#include <gnstor/simt_host/executor.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <deque>
#include <string>
#include <vector>

using namespace gnstor;
using gnstor::test::thrown;

namespace {

/// Drops every n-th packet of its lane.
struct sieve {
  std::uint32_t each = 0;  ///< 0: nothing is dropped
  std::uint32_t seen = 0;
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet) {
    ++seen;
    return each != 0 && seen % each == 0 ? packet_verdict::drop : packet_verdict::forward;
  }
};

constexpr host::packet_flow_options small = {.depth = 32, .turn = 8, .buffers = 64};

/// Forwards from port 0 to port 1; what `nic::check` or anything else throws, or nothing.
std::string forward(const std::string& endpoint, const sieve& app = {}) {
  try {
    host::nic nic(endpoint);
    host::packet_flow flow(nic, small);
    simt::host::executor machine;
    flow.spawn(machine, app);
    nic.attach(machine);
    machine.run();
    nic.check();
    CHECK(flow.count(packet_cause::stuck) + flow.count(packet_cause::unsent) == 0);
    return {};
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("a CPU thread and blocks serve a NIC as lanes do") {
  for (const char* runner :
       {"cpu", "sim", "gpu", "cpu&model=82574", "sim&model=82574", "gpu&model=82574"}) {
    CAPTURE(runner);
    CHECK(forward(std::string("emu-nic:?frames=3000&runner=") + runner) == "");
    CHECK(forward(std::string("emu-nic:?frames=3000&destinations=any&runner=") + runner) == "");
    CHECK(forward(std::string("emu-nic:?frames=3000&loss=50&duplicate=50&damage=50&checksum=50&"
                              "runt=50&oversize=50&late=200&seed=9&runner=") +
                  runner) == "");
  }
}

TEST_CASE("a port that is a loop brings back what is sent, and it comes out where it came from") {
  for (const char* runner : {"cpu", "sim", "gpu"}) {
    CAPTURE(runner);
    host::nic nic(std::string("emu-nic:?loopback=1&frames=1000&late=200&runner=") + runner);
    host::packet_flow there(nic, small);
    host::packet_flow back(nic, {1, 0, small.depth, small.turn, small.buffers});
    simt::host::executor machine;
    there.spawn(machine, sieve{});
    back.spawn(machine, sieve{});
    nic.attach(machine);
    machine.run();
    nic.check();
    CHECK(back.count(packet_cause::sent) == 1000);
    CHECK(nic.statistics(0).came_out == 1000);
    CHECK(nic.statistics(1).delivered == 1000);
    CHECK(nic.statistics(1).given == 0);
  }
}

TEST_CASE("flows are opened and closed beside a thread that serves the NIC") {
  host::nic nic("emu-nic:?runner=cpu&frames=0");
  for (int round = 0; round < 200; ++round) {
    const host::packet_flow flow(nic, small);
    CHECK(flow.count(packet_cause::received) == 0);
  }
  nic.check();
}

TEST_CASE("jumbo frames go through kernels whose buffers are long enough, and are refused else") {
  for (const char* what :
       {"cpu", "sim", "gpu", "cpu&model=82574", "sim&queues=2&flows=20", "gpu&queues=2&flows=20"}) {
    CAPTURE(what);
    host::nic nic(std::string("emu-nic:?frames=500&size=9014&late=100&runner=") + what);
    CHECK(
        thrown([&] { host::packet_flow flow(nic, small); }) ==
        std::string(nic.queues() == 1 ? "port 0" : "port 0, queue 0") +
            ": its frames have up to 9014 bytes and a buffer has 2048: use a larger buffer_bytes, "
            "or a smaller MTU");
    std::deque<host::packet_flow> flows;
    simt::host::executor machine;
    std::uint64_t bytes = 0;
    for (std::uint32_t q = 0; q < nic.queues(); ++q) {
      host::packet_flow_options o = small;
      o.buffer_bytes = 9216;
      o.receive_queue = o.send_queue = q;
      flows.emplace_back(nic, o).spawn(machine, sieve{});
    }
    nic.attach(machine);
    machine.run();
    nic.check();
    for (const host::packet_flow& f : flows) bytes += f.count(packet_cause::sent_bytes);
    CHECK(bytes == 500 * 9014);
  }
}

TEST_CASE("a frame that does not come out again is missed by the check") {
  CHECK(forward("emu-nic:?frames=320", {.each = 10}) ==
        "emu-nic: port 0: 288 of 320 frames came out again");
}

TEST_CASE("a NIC waits for frames in kernels as long as its endpoint says") {
  using std::chrono::steady_clock;
  const auto begin = steady_clock::now();
  CHECK(forward("emu-nic:?frames=1&runner=cpu&patience=1500", {.each = 1}) ==
        "emu-nic: port 0: 0 of 1 frames came out again");
  CHECK(steady_clock::now() - begin >= std::chrono::milliseconds(1500));
}

TEST_CASE("an endpoint that says nonsense is answered by what exists") {
  const auto parse = [](const char* text) {
    return thrown([text] { host::nic_endpoint::parse(text); });
  };
  CHECK(parse("emu-nic:") == "");
  CHECK(parse("emu-nic:?ports=8&size=1514&full=drop") == "");
  CHECK(parse("emu-nic:x").find("expected emu-nic:?NAME=VALUE") != std::string::npos);
  CHECK(parse("emu:").find("an Ethernet controller") != std::string::npos);
  CHECK(parse("emu-nic:?size=59").find("a number from 60 to 9014") != std::string::npos);
  CHECK(parse("emu-nic:?model=82540").find("expected 82599|82574") != std::string::npos);
  CHECK(parse("emu-nic:?ports=1&loopback=1").find("names no port of 1") != std::string::npos);
  CHECK(parse("emu-nic:?destinations=all").find("expected private|any") != std::string::npos);
  CHECK(parse("emu-nic:?speed=10").find("these exist: model, ports") != std::string::npos);
  CHECK(parse("emu-nic:?loss=600&damage=600").find("1200 of 1024") != std::string::npos);
  for (const char* nic : {"emu-nic:", "tap:tap0", "pcap:in.pcap", "eth://0000:02:00.0"})
    CHECK(thrown([&] { host::endpoint::parse(nic); }).find("host::nic") != std::string::npos);
}

TEST_CASE("an Ethernet controller of the bus is named as the kernel names it") {
  const auto e = host::nic_endpoint::parse("eth://02:00.0?promiscuous=yes&depth=64");
  CHECK(e.functions == std::vector<std::string>{"0000:02:00.0"});
  CHECK(host::nic_endpoint::parse("eth://0000:02:00.0,0000:03:00.0").ports == 2);
  CHECK(e.promiscuous);
  CHECK(e.depth == 64);
  CHECK(e.model == host::nic_endpoint::model_kind::intel_82574);
  const auto parse = [](const char* text) {
    return thrown([text] { host::nic_endpoint::parse(text); });
  };
  CHECK(parse("eth://eth0").find("expected eth://DOMAIN:BUS:DEVICE.FUNCTION") != std::string::npos);
  CHECK(parse("eth://02:00.0,0000:02:00.0").find("one for each port") != std::string::npos);
  CHECK(parse("eth://0000:02:00.0?model=82599").find("these exist: depth, promiscuous") !=
        std::string::npos);
  CHECK(thrown([] { host::nic nic("eth://fffe:1f:1f.7"); }).find("no such PCI function") !=
        std::string::npos);
}

TEST_CASE("a flow that cannot be says why") {
  host::nic nic("emu-nic:?depth=64");
  const auto make = [&nic](host::packet_flow_options o) {
    return thrown([&] { host::packet_flow flow(nic, o); });
  };
  CHECK(make({.turn = 16}) == "");
  CHECK(make({.turn = 16}) == "");  // its ports are free again
  CHECK(make({.turn = 64}).find("two turns (depth 64, turn 64") != std::string::npos);
  CHECK(make({.depth = 8192}).find("have 4096 at most") != std::string::npos);
  CHECK(make({.receive_port = 2, .turn = 16}) == "port 2: the NIC has 2");
  CHECK(make({.turn = 16, .buffers = 100}).find("multiple of lanes") != std::string::npos);
  CHECK(make({.turn = 16, .buffer_bytes = 1024}).find("use 2048 to 16384") != std::string::npos);
  host::packet_flow first(nic, {.turn = 16});
  CHECK(make({.turn = 16}) == "port 1 sends for another flow: use another port");
  CHECK(make({.send_port = 0, .turn = 16}) == "port 0 receives for another flow: use another port");
  simt::host::executor machine;
  CHECK(thrown([&] { first.spawn(machine); }).find("1 were announced") != std::string::npos);
}
