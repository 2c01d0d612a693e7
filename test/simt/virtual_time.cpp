/// Time in the seeded modes is a function of the seed.
#include "run.hpp"
#include <gnstor/simt/atomic_ref.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint32_t lanes = 80;

/// Everything one run shows.
struct trace {
  std::uint64_t points = 0;
  std::uint64_t switches = 0;
  std::vector<std::uint64_t> turn = std::vector<std::uint64_t>(lanes);  ///< order of arrival
  std::vector<std::uint64_t> group =
      std::vector<std::uint64_t>(lanes);  ///< lanes it coalesced with
  std::vector<std::uint64_t> gave_up = std::vector<std::uint64_t>(lanes);  ///< when its wait ended
  bool operator==(const trace&) const = default;
};

trace record(host::options chosen) {
  trace t;
  std::uint32_t word = 0;
  std::uint32_t never = 0;
  host::executor machine(chosen);
  machine.spawn(2, lanes / 2, lambda_kernel{[&](auto& lane) {
                  const std::uint32_t me = lane.global_thread();
                  t.turn[me] = device_word<std::uint32_t>(word).fetch_add(1, relaxed);
                  t.group[me] = lane.coalesced().lanes();
                  for (until wait{simt::within(3000)}; wait;) {
                    if (device_word<std::uint32_t>(never).load(acquire) != 0) return;
                  }
                  t.gave_up[me] = simt::now_ns();
                }});
  machine.run();
  t.points = machine.points();
  t.switches = machine.switches();
  return t;
}

}  // namespace

TEST_CASE("the same seed gives the same trace, another seed another one") {
  for (host::mode mode : {host::mode::seeded, host::mode::weak}) {
    const trace first = record({.run = mode, .seed = 11});
    CHECK(first == record({.run = mode, .seed = 11}));
    CHECK(first.turn != record({.run = mode, .seed = 12}).turn);
  }
}

TEST_CASE("a wait gives up at its deadline, in virtual time and without waiting for real") {
  const auto begin = std::chrono::steady_clock::now();
  for (host::mode mode : {host::mode::seeded, host::mode::weak}) {
    std::uint64_t waited = 0;
    std::uint64_t rounds = 0;
    run({.run = mode, .seed = 6, .ns_per_step = 1'000'000}, 1, 1, [&](auto&) {
      const std::uint64_t start = simt::now_ns();
      for (until wait{simt::within(10'000'000'000)}; wait;) ++rounds;
      waited = simt::now_ns() - start;
    });
    CHECK(waited >= 10'000'000'000);
    CHECK(waited < 10'100'000'000);
    CHECK(rounds > 100);
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("in fast mode a deadline is wall-clock time") {
  const auto begin = std::chrono::steady_clock::now();
  run({}, 1, 32, [](auto&) {
    for (until wait{simt::within(5'000'000)}; wait;) {
    }
  });
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(5));
}

TEST_CASE("pause and the clock itself advance virtual time") {
  run({.run = host::mode::seeded, .seed = 1, .ns_per_step = 7}, 1, 1, [](auto& lane) {
    const std::uint64_t first = simt::now_ns();
    CHECK(simt::now_ns() == first + 7);
    lane.pause();
    CHECK(simt::now_ns() == first + 21);
  });
}

TEST_CASE("a wait without a deadline ends as a livelock when the step budget is spent") {
  std::uint32_t never = 0;
  host::executor machine({.run = host::mode::seeded, .seed = 3, .step_budget = 5000});
  machine.spawn(1, 2, lambda_kernel{[&](auto&) {
                  for (until wait{deadline::never()}; wait;) {
                    if (device_word<std::uint32_t>(never).load(acquire) != 0) return;
                  }
                }});
  CHECK_THROWS_WITH_AS(machine.run(), doctest::Contains("livelock"), host::schedule_error);
  CHECK(machine.points() == 5001);
}
