/// Paths that stop early, and wires that give too much or take nothing.

#include "rig_runs.hpp"

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("a path that stops in the middle sends what it has, and every buffer is home") {
  sweep(simt::host::mode::seeded, 100,
        [](simt::host::options chosen) { return fault_of_stopping({}, chosen); });
}

TEST_CASE("where the receive ring is full a generator waits, and nothing is missed") {
  packet_rig_shape shape;
  shape.pool.buffers = 8;  // one per lane: each is away until it was sent
  shape.frames = 2000;
  packet_rig rig(shape);
  REQUIRE(rig.run({}, forward_all{}) == "");
  CHECK(rig.fault_of_forwarding() == "");
  CHECK(rig.count(packet_cause::no_buffer) > 0);
  CHECK(rig.port(0).counters.missed == 0);
}

TEST_CASE("where nobody waits frames without a descriptor are counted as missed") {
  packet_rig_shape shape;
  shape.frames = 2000;
  shape.drops_when_full = true;
  packet_rig rig(shape);
  REQUIRE(rig.run({}, forward_all{}) == "");
  CHECK(rig.fault_of_forwarding() == "");
  CHECK(rig.port(0).counters.missed > 0);
  CHECK(rig.port(0).counters.missed + rig.port(0).counters.delivered == 2000);
}

TEST_CASE("a NIC that sends nothing any more gives the packets back when the path stops") {
  std::uint64_t full = 0;
  sweep(simt::host::mode::seeded, 40,
        [&full](simt::host::options chosen) { return fault_of_stalling({}, chosen, full); });
  CHECK(full > 0);
}

TEST_CASE(
    "where the time to end is over while a slow NIC still sends, each packet has an account") {
  std::uint64_t unsent = 0;
  sweep(simt::host::mode::seeded, 200, [&unsent](simt::host::options chosen) -> std::string {
    packet_rig_shape shape;
    shape.pool = {.lanes = 16, .buffers = 64, .bytes = 2048};
    shape.frames = 1'000'000;
    shape.faults = {.seed = chosen.seed, .late = 400};
    shape.drain_ns = chosen.seed % 40 * 500;
    packet_rig rig(shape);
    const std::string thrown = run_until(rig, chosen, 20'000 + chosen.seed * 500);
    if (!thrown.empty()) return thrown;
    unsent += rig.count(packet_cause::unsent);
    const std::string fault = rig.fault_but_for_the_rest();
    // What the NIC kept for longer than that is stuck, and in no other account.
    const bool is_kept = rig.count(packet_cause::stuck) != 0;
    const bool is_of_kept =
        fault == "a packet is in no account" || fault == "the NIC sent another number";
    return is_kept && is_of_kept ? std::string() : fault;
  });
  CHECK(unsent > 0);
}

TEST_CASE("a NIC that lets go of nothing keeps its buffers: they are counted as stuck") {
  packet_rig_shape shape;
  shape.frames = 3;
  shape.drain_ns = 50'000;
  packet_rig rig(shape);
  rig.die();
  REQUIRE(run_until(rig, {.run = simt::host::mode::seeded, .seed = 3}, 100'000) == "");
  CHECK(rig.count(packet_cause::received) == 0);
  CHECK(rig.count(packet_cause::stuck) == 8);
}

TEST_CASE("numbers that do not fit together are named") {
  const auto problem = [](auto change) {
    packet_rig rig(packet_rig_shape{});
    packet_rig::path_type path = rig.path();
    change(path);
    return std::string(path.problem() == nullptr ? "" : path.problem());
  };
  CHECK(problem([](auto&) {}) == "");
  CHECK(problem([](auto& p) { p.turn = 8; }) == "depth must be a power of two of two turns");
  CHECK(problem([](auto& p) { p.turn = 3; }) == "turn must be a power of two");
  CHECK(problem([](auto& p) { p.applications = 9; }) == "at most eight applications");
  CHECK(problem([](auto& p) {
          p.pool = packet_pool({.lanes = 8, .buffers = 12}, nullptr, nullptr, 0);
        }) == "buffers must be a multiple of lanes");
}
