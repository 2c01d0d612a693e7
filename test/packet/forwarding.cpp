/// Packets from a port to another: all of them, once, in order, whatever the schedule and the wire.

#include "rig_runs.hpp"

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("a path of the default shape forwards every frame once and in order") {
  packet_rig_shape shape;
  shape.pool = {};
  shape.turn = 128;
  shape.frames = under_tsan ? 500 : 5000;
  shape.frame_bytes = 0;
  CHECK(forward(shape, {}) == "");
}

TEST_CASE("what a bad wire leaves is forwarded, and the rest is counted by cause") {
  packet_rig_shape shape;
  shape.pool.lanes = 64;
  shape.pool.buffers = 128;
  shape.turn = 32;
  shape.frames = 4000;
  shape.frame_bytes = 0;
  shape.faults = bad_wire(3);
  packet_rig rig(shape);
  REQUIRE(rig.run({}, forward_all{}) == "");
  CHECK(rig.fault_of_forwarding() == "");
  fw::nic_counters& in = rig.port(0).counters;
  CHECK(in.runts > 100);
  CHECK(in.oversize > 100);
  CHECK(in.lost > 100);
  CHECK(in.damaged > 100);
  CHECK(rig.count(packet_cause::bad_check_sequence) == in.damaged);
  CHECK(rig.count(packet_cause::bad_checksum) == in.miscounted);
  CHECK(rig.count(packet_cause::received) == in.given);
  CHECK(in.given > 4000 - in.runts - in.oversize - in.lost - in.damaged - in.miscounted);
}

TEST_CASE("seeded: no schedule loses, repeats or reorders a frame") {
  sweep(host::mode::seeded, 200, [](host::options chosen) {
    packet_rig_shape shape;
    shape.faults = bad_wire(chosen.seed);
    return forward(shape, chosen);
  });
}

TEST_CASE("packets behind which none comes are sent all the same, and at once") {
  sweep(host::mode::seeded, 20, [](host::options chosen) {
    packet_rig_shape shape;
    shape.frames = 1 + chosen.seed % 3;
    // The wire waits for them beyond the budget.
    shape.settle_ns = 10'000'000'000;
    shape.step_budget = 1'000'000;
    return forward(shape, chosen);
  });
  // One warp's packets, and the turn is not over.
  sweep(host::mode::seeded, 4, [](host::options chosen) {
    packet_rig_shape shape;
    shape.pool = {.lanes = 128, .buffers = 256, .bytes = 2048};
    shape.turn = 64;
    shape.frames = 32;
    shape.settle_ns = 10'000'000'000;
    shape.step_budget = 20'000'000;
    return forward(shape, chosen);
  });
}

TEST_CASE("a transmit ring that is full waits, and loses nothing") {
  std::uint64_t full = 0;
  sweep(host::mode::seeded, 40, [&full](host::options chosen) -> std::string {
    packet_rig_shape shape;
    shape.pool.buffers = 32;
    shape.frames = 80;
    shape.faults = {.seed = chosen.seed, .late = 1000};
    packet_rig rig(shape);
    const std::string thrown = rig.run(chosen, forward_all{});
    full += rig.count(packet_cause::ring_full);
    return thrown.empty() ? rig.fault_of_forwarding() : thrown;
  });
  CHECK(full > 0);
}

TEST_CASE("weak: no load of an older word loses, repeats or reorders a frame") {
  sweep(host::mode::weak, 200, [](host::options chosen) {
    packet_rig_shape shape;
    shape.faults = bad_wire(chosen.seed);
    return forward(shape, chosen);
  });
}

TEST_CASE("seeded and weak: the extended descriptors of an 82574 do as well") {
  for (const host::mode mode : {host::mode::fast, host::mode::seeded, host::mode::weak}) {
    sweep(mode, 40, [](host::options chosen) {
      packet_rig_shape shape;
      shape.faults = bad_wire(chosen.seed);
      return forward<fw::nic_82574>(shape, chosen);
    });
  }
}
