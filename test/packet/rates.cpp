/// Wires that have a speed: never faster, and no slower than who serves them.

#include <gnstor/core/deadline.hpp>
#include <gnstor/host/packet_flow.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt_host/executor.hpp>

#include <doctest/doctest.h>
#include <nic/numbered_wire.hpp>

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace gnstor;

namespace {

struct pass_on {
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet) {
    return packet_verdict::forward;
  }
};

/// Nanoseconds until `frames` of `bytes` have passed, by who comes round after `draw()` each time.
template <class Draw>
double passed_in(const fw::wire_rate& rate, std::uint64_t start, int frames, std::uint32_t bytes,
                 const Draw& draw) {
  std::uint64_t due = 0;
  std::uint64_t now = start;
  for (int k = 0; k < frames;) {
    now += draw();
    while (k < frames && rate.is_free(due, now)) {
      due = rate.take(due, bytes, now);
      ++k;
    }
  }
  return static_cast<double>(now - start);
}

}  // namespace

TEST_CASE("a wire carries what its rate says, by whoever is late now and then") {
  std::mt19937 draw(4);
  for (const std::uint32_t gbits : {1, 10, 25, 100, 400}) {
    for (const std::uint64_t start :
         {std::uint64_t{0}, std::uint64_t{1} << 40, (~std::uint64_t{0}) / 1000 - 1'000'000}) {
      CAPTURE(gbits);
      CAPTURE(start);
      constexpr int frames = 50'000;
      const double exact = frames * 84.0 * 8 / gbits;
      const fw::wire_rate rate = fw::wire_rate::of_gbits(gbits);
      for (const std::uint64_t latest : {100u, 40'000u}) {
        const double took = passed_in(rate, start, frames, 60, [&] { return 1 + draw() % latest; });
        // Once it may be early by the slack, at the begin.
        CHECK(took > exact - 51'000);
        CHECK(took < exact * 1.01 + 50'000);
      }
      // Who is later than the slack loses the rest.
      CHECK(passed_in(rate, start, frames, 60, [] { return 200'000; }) > 2 * exact);
    }
  }
}

TEST_CASE("a wire that several find free at once carries the frames of all, one after another") {
  std::mt19937 draw(5);
  constexpr std::uint32_t owners = 16, at_once = 128;
  for (const std::uint32_t gbits : {10, 25, 100}) {
    CAPTURE(gbits);
    const fw::wire_rate rate = fw::wire_rate::of_gbits(gbits);
    std::uint64_t due = 0;
    std::uint64_t now = std::uint64_t{1} << 40;
    const std::uint64_t start = now;
    std::uint64_t frames = 0;
    while (frames < 500'000) {
      now += 1 + draw() % 1000;
      if (!rate.is_free(due, now)) continue;
      for (std::uint32_t k = 0; k < owners; ++k)  // none of them looks again
        rate.take_shared(due, std::uint64_t{at_once} * 60, at_once, now);
      frames += owners * at_once;
    }
    const auto took = static_cast<double>(now - start);
    const double exact = static_cast<double>(frames - owners * at_once) * 84.0 * 8 / gbits;
    CHECK(took > exact - 51'000);
    CHECK(took < exact * 1.02 + 50'000);
  }
}

TEST_CASE("a port's wire is busy while a frame passes, each way by itself") {
  const auto port = std::make_unique<fw::nic_port>();
  port->listens = 1;
  fw::nic_node node;
  node.ports = port.get();
  node.frames = 10;
  node.frame_bytes = 60;
  node.rate.byte_ps = 1'000'000'000;  // 84 ms a frame
  fw::numbered_wire wire(node, 0);
  const std::vector<unsigned char> frame(60, 0xff);
  const auto look = [&wire] { return wire.look().what; };
  REQUIRE(look() == fw::wire_arrival::kind::frame);
  wire.pass(wire.look(), true);
  CHECK(look() == fw::wire_arrival::kind::none);
  CHECK(wire.send(frame.data(), 60));
  CHECK_FALSE(wire.send(frame.data(), 60));
  CHECK(look() == fw::wire_arrival::kind::none);
  CHECK(port->counters.made == 1);
  bool came = false;
  bool left = false;
  for (until wait{simt::within(10'000'000'000)}; wait && !(came && left);) {
    came = came || look() == fw::wire_arrival::kind::frame;
    left = left || wire.send(frame.data(), 60);
  }
  CHECK(came);
  CHECK(port->sinks.foreign == 2);
}

TEST_CASE("frames come no faster than the wire is") {
  for (const char* runner : {"cpu", "sim", "gpu"}) {
    CAPTURE(runner);
    host::nic nic(std::string("emu-nic:?size=1514&rate=1&frames=9000&runner=") + runner);
    host::packet_flow flow(nic, {0, 1, 32, 8, 64});
    simt::host::executor machine;
    flow.spawn(machine, pass_on{});
    nic.attach(machine);
    const auto start = std::chrono::steady_clock::now();
    machine.run();
    nic.check();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    CHECK(took.count() > 9000 * 1538 * 8e-9 * 0.99);
  }
}
