/// Lanes that wait together: who stays, who leaves, and when.
#include "run.hpp"
#include <gnstor/simt/lane.hpp>
#include <gnstor/simt/step_together.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint32_t lanes = 7;
constexpr std::uint32_t never = ~0u;

/// What a lane did: rounds, rounds that it only helped in, and how it left.
struct record {
  std::uint32_t rounds = 0;
  std::uint32_t helped = 0;
  bool done = false;
};

/// A warp whose lane k has its answer in round `ready[k]`.
std::array<record, lanes> run_warp(host::options chosen,
                                   const std::array<std::uint32_t, lanes>& ready,
                                   std::uint64_t timeout_ns = 1'000'000'000'000) {
  std::array<record, lanes> seen;
  host::executor machine(chosen);
  machine.spawn(1, lanes, [&](auto& lane) {
    record& mine = seen[lane.thread()];
    const deadline soon =
        simt::within(lane.thread() == 0 ? timeout_ns : std::uint64_t{1'000'000'000'000});
    mine.done = simt::step_together(lane.warp(), soon, [&](bool done) {
      ++mine.rounds;
      if (done) ++mine.helped;
      return !done && mine.rounds >= ready[lane.thread()];
    });
  });
  machine.run();
  return seen;
}

}  // namespace

TEST_CASE("lanes that wait together leave together, and help until then") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto seen = run_warp({.run = host::mode::seeded, .seed = seed}, {1, 9, 3, 3, 40, 1, 2});
    for (std::uint32_t k = 0; k < lanes; ++k) {
      CAPTURE(k);
      CHECK(seen[k].done);
      CHECK(seen[k].rounds == 40);
    }
    CHECK(seen[0].helped == 39);
    CHECK(seen[4].helped == 0);
  }
}

TEST_CASE("a lane whose answer does not come holds the others up for a moment only") {
  const auto seen = run_warp({}, {5, 5, never, 5, 6, 5, 5});
  for (std::uint32_t k = 0; k < lanes; ++k) {
    CAPTURE(k);
    CHECK(seen[k].done == (k != 2));
    CHECK(seen[k].rounds == seen[0].rounds);
    CHECK(seen[k].rounds >= 50);
    CHECK(seen[k].rounds <= 150);
  }
}

TEST_CASE("a part of a warp does not wait together") {
  std::array<bool, lanes> asked{};
  std::array<bool, lanes> done{};
  host::executor machine(host::options{});
  machine.spawn(1, lanes, [&](auto& lane) {
    const std::uint32_t k = lane.thread();
    const simt::group half = lane.warp().partition(k % 2);
    done[k] = simt::step_together(half, simt::within(1'000), [&](bool) { return asked[k] = true; });
  });
  machine.run();
  for (std::uint32_t k = 0; k < lanes; ++k) CHECK_FALSE((asked[k] || done[k]));
}

TEST_CASE("lanes without any answer stop waiting together at a bound, or at one's deadline") {
  std::array<std::uint32_t, lanes> none;
  none.fill(never);
  const auto bound = run_warp({}, none);
  CHECK(bound[0].rounds == 1024);
  const auto late = run_warp({.run = host::mode::seeded, .seed = 3}, none, 2'000);
  CHECK(late[0].rounds < 1024);
  CHECK(late[lanes - 1].rounds == late[0].rounds);
  CHECK(std::none_of(late.begin(), late.end(), [](const record& r) { return r.done; }));
}
