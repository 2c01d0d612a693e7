/// A NIC as it is served on a GPU, a block per ring: what holds of the one that a lane per port
/// serves holds of it.
// label: thorough

#include "rig_runs.hpp"
#include <gnstor/core/hash.hpp>

#include <doctest/doctest.h>
#include <nic/block_team.hpp>
#include <nic/one_lane.hpp>

#include <cstring>
#include <memory>
#include <string>

using namespace gnstor;
using namespace gnstor::test;

namespace {

packet_rig_shape by_blocks(std::uint32_t threads = 4) {
  packet_rig_shape shape;
  shape.ring_threads = threads;
  shape.step_budget = 400'000'000;  // a wire's faults may have it wait for the time to settle
  return shape;
}

/// What each thread of a team finds of drawn values.
struct team_findings {
  std::uint64_t value[fw::block_team::most_threads];
  std::uint32_t place[fw::block_team::most_threads];  ///< of `places`; beyond them: none
  std::uint64_t places[4];
  std::uint64_t counters[4];
  std::uint64_t before[fw::block_team::most_threads];
  std::uint64_t all[fw::block_team::most_threads];
  std::uint64_t shared[fw::block_team::most_threads];
  std::uint32_t leading[fw::block_team::most_threads];
  bool behind[fw::block_team::most_threads];

  explicit team_findings(std::uint64_t seed) : team_findings() {
    for (std::uint32_t k = 0; k < fw::block_team::most_threads; ++k) {
      value[k] = mix64(seed * 1000 + k) % 64;
      // Few places, or one; now and then none.
      place[k] = static_cast<std::uint32_t>(mix64(seed * 7000 + k) % (seed % 2 == 0 ? 5 : 1));
    }
    for (std::uint64_t& p : places) p = mix64(seed) % 32;
  }
  std::uint64_t* place_of(std::uint32_t k) { return place[k] < 4 ? &places[place[k]] : nullptr; }
  std::uint64_t* counter_of(std::uint32_t k) {
    return place[k] < 4 ? &counters[place[k]] : nullptr;
  }

 private:
  team_findings() = default;
};

struct find_together {
  struct shared {
    fw::block_team::room room;
  };
  team_findings* to;
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const fw::block_team team(lane.shared().room);
    const std::uint32_t k = team.rank();
    for (std::uint32_t round = 0; round < 2; ++round) {
      const auto sums = team.add_up(to->value[k]);
      to->before[k] = sums.before;
      to->all[k] = sums.all;
      to->leading[k] = team.leading(to->value[k] >= 4);
      to->shared[k] = team.share(to->value[k] + round);
    }
    to->behind[k] = team.is_behind(to->place_of(k), to->value[k]);
    team.count(to->counter_of(k), to->value[k], release);
  }
};

/// What is wrong with what a team of `threads` has found; nothing if it is what one lane finds that
/// does one after another.
std::string fault_of_team(std::uint32_t threads, const host::options& chosen) {
  team_findings expected(chosen.seed);
  team_findings found(chosen.seed);
  host::executor machine(chosen);
  machine.spawn(1, threads, find_together{&found});
  const std::string thrown = run_to_end(machine);
  if (!thrown.empty()) return thrown;
  const fw::one_lane alone;
  std::uint64_t sum = 0;
  std::uint32_t leading = threads;
  for (std::uint32_t k = 0; k < threads; ++k) {
    if (found.before[k] != sum) return "another sum before a rank";
    sum += found.value[k];
    if (found.value[k] < 4 && leading == threads) leading = k;
    if (found.shared[k] != found.value[0] + 1) return "another value of the leader";
    if (found.behind[k] != alone.is_behind(expected.place_of(k), expected.value[k]))
      return "rank " + std::to_string(k) + " is behind, or is not";
    alone.count(expected.counter_of(k), expected.value[k]);
  }
  for (std::uint32_t k = 0; k < threads; ++k) {
    if (found.all[k] != sum) return "another sum";
    if (found.leading[k] != leading) return "another number of leading ranks";
  }
  for (std::uint32_t k = 0; k < 4; ++k) {
    if (found.places[k] != expected.places[k]) return "a place has another value";
    if (found.counters[k] != expected.counters[k]) return "a counter has another value";
  }
  return {};
}

}  // namespace

TEST_CASE("a team counts and compares as one lane does, also what is out of order within a block") {
  for (const host::mode mode : {host::mode::fast, host::mode::seeded, host::mode::weak}) {
    sweep(mode, 20, [](host::options chosen) {
      std::string fault;
      for (const std::uint32_t threads : {1u, 2u, 16u, 32u, 64u, 256u})
        if (fault.empty()) fault = fault_of_team(threads, chosen);
      return fault;
    });
  }
}

TEST_CASE("blocks of a NIC forward every frame once and in order") {
  for (const std::uint32_t threads : {1u, 16u, 64u, 128u}) {
    CAPTURE(threads);
    packet_rig_shape shape = by_blocks(threads);
    shape.pool = {.lanes = 256, .buffers = 512, .bytes = 2048};
    shape.turn = 64;
    shape.frames = under_tsan ? 500 : 3000;
    shape.frame_bytes = 0;
    CHECK(forward(shape, {}) == "");
  }
}

TEST_CASE("in every mode: blocks of a NIC lose, repeat and reorder nothing") {
  for (const host::mode mode : {host::mode::fast, host::mode::seeded, host::mode::weak}) {
    sweep(mode, 30, [](host::options chosen) {
      packet_rig_shape shape = by_blocks(1u << chosen.seed % 5);
      shape.faults = bad_wire(chosen.seed);
      return forward(shape, chosen);
    });
  }
}

TEST_CASE("blocks of a NIC count what a lane per port counts, whatever the wire does") {
  sweep(host::mode::seeded, 20, [](host::options chosen) -> std::string {
    fw::nic_counters seen[2];
    for (const bool blocks : {false, true}) {
      packet_rig_shape shape = by_blocks(blocks ? 8 : 0);
      shape.frames = 200;
      shape.frame_bytes = 0;
      shape.faults = bad_wire(chosen.seed);
      packet_rig rig(shape);
      const std::string thrown = rig.run(chosen, forward_all{});
      if (!thrown.empty()) return thrown;
      if (const std::string fault = rig.fault_of_forwarding(); !fault.empty()) return fault;
      seen[blocks] = rig.port(0).counters;
    }
    return std::memcmp(&seen[0], &seen[1], sizeof seen[0]) == 0 ? "" : "they count otherwise";
  });
}

TEST_CASE("in every mode: blocks serve the extended descriptors of an 82574 as well") {
  for (const host::mode mode : {host::mode::fast, host::mode::seeded, host::mode::weak}) {
    sweep(mode, 10, [](host::options chosen) {
      packet_rig_shape shape = by_blocks(8);
      shape.faults = bad_wire(chosen.seed);
      return forward<fw::nic_82574>(shape, chosen);
    });
  }
}

TEST_CASE("what blocks are to stop in the middle is sent, and every buffer is home") {
  sweep(host::mode::seeded, 40,
        [](host::options chosen) { return fault_of_stopping(by_blocks(8), chosen); });
}

TEST_CASE("blocks wait for descriptors, or count what they miss") {
  for (const bool drops : {false, true}) {
    CAPTURE(drops);
    packet_rig_shape shape = by_blocks(8);
    shape.pool.buffers = 8;  // one per lane: each is away until it was sent
    shape.frames = 2000;
    shape.drops_when_full = drops;
    packet_rig rig(shape);
    REQUIRE(rig.run({}, forward_all{}) == "");
    CHECK(rig.fault_of_forwarding() == "");
    CHECK((rig.port(0).counters.missed > 0) == drops);
    CHECK(rig.port(0).counters.missed + rig.port(0).counters.delivered == 2000);
    CHECK(rig.port(0).receive[0].missed == rig.port(0).counters.missed);
  }
}

TEST_CASE("blocks that send nothing any more give the packets back when the path stops") {
  std::uint64_t full = 0;
  sweep(host::mode::seeded, 20,
        [&full](host::options chosen) { return fault_of_stalling(by_blocks(8), chosen, full); });
  CHECK(full > 0);
}

TEST_CASE("a tail beyond its ring is noticed, by lanes and by blocks") {
  for (const std::uint32_t threads : {0u, 8u}) {
    CAPTURE(threads);
    std::uint64_t seen = 0;
    sweep(host::mode::seeded, 10, [&](host::options chosen) -> std::string {
      packet_rig rig(by_blocks(threads));
      rig.port(0).registers[wire::intel::registers_82599::receive(0).tail / 4] = 8;
      const std::string thrown = rig.run(chosen, forward_all{});
      if (!thrown.empty()) return thrown;
      seen += rig.port(0).counters.bad_tails;
      rig.port(0).counters.bad_tails = 0;
      return rig.fault_of_forwarding();
    });
    CHECK(seen > 0);
  }
}

TEST_CASE("the way of frames that blocks bring is timed, by their own numbers") {
  sweep(host::mode::seeded, 10, [](host::options chosen) -> std::string {
    packet_rig_shape shape = by_blocks(8);
    shape.frames = 100;
    const auto transits = std::make_unique<fw::frame_transits>();
    packet_rig rig(shape);
    rig.measure(*transits);
    const std::string what = rig.run(chosen, forward_all{});
    if (!what.empty()) return what;
    return transits->took[0].total() == 100 ? "" : "another number was timed";
  });
}
