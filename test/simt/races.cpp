/// Faults of interleaving: the seeded mode finds them, the fast mode cannot.
#include "run.hpp"
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/copy.hpp>

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

namespace {

bool loses_an_update(host::options chosen) {
  std::uint32_t counter = 0;
  run(chosen, 1, 32, [&](auto&) {
    const device_word<std::uint32_t> word(counter);
    word.store(word.load(relaxed) + 1, relaxed);
  });
  return counter != 32;
}

}  // namespace

TEST_CASE("load, add, store loses an update under some seed, and never in fast mode") {
  CHECK(!loses_an_update({}));
  const std::uint64_t seed =
      first_seed(sweep_seeds, [](std::uint64_t s) { return loses_an_update(seeded(s)); });
  MESSAGE("first seed " << seed);
  CHECK(seed > 0);
}

TEST_CASE("fetch_add loses no update in any mode") {
  for (std::uint64_t seed = 1; seed <= sweep_seeds; ++seed) {
    for (host::mode mode : {host::mode::seeded, host::mode::weak}) {
      std::uint32_t counter = 0;
      run({.run = mode, .seed = seed}, 1, 32,
          [&](auto&) { device_word<std::uint32_t>(counter).fetch_add(1, relaxed); });
      REQUIRE(counter == 32);
    }
  }
}

#if !defined(__SANITIZE_THREAD__)  // which reports the planted race

namespace {

struct alignas(16) page {
  std::uint64_t words[8];
};

/// One lane rewrites a page again and again; another copies it once. True if the copy mixes two
/// versions.
bool tears_a_copy(host::options chosen) {
  page source{};
  page seen{};
  run(chosen, 2, 1, [&](auto& lane) {
    if (lane.block() == 0) {
      for (std::uint64_t version = 1; version <= 3; ++version) {
        page fresh;
        for (std::uint64_t& w : fresh.words) w = version;
        simt::copy(simt::group::self(), &source, &fresh, sizeof fresh);
        lane.pause();
      }
    } else {
      lane.pause();
      simt::copy(simt::group::self(), &seen, &source, sizeof seen);
    }
  });
  for (std::uint64_t w : seen.words) {
    if (w != seen.words[0]) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a page copy can be torn in the seeded modes only") {
  CHECK(!tears_a_copy({}));
  for (host::mode mode : {host::mode::seeded, host::mode::weak}) {
    const std::uint64_t seed = first_seed(
        sweep_seeds, [&](std::uint64_t s) { return tears_a_copy({.run = mode, .seed = s}); });
    MESSAGE("first seed " << seed);
    CHECK(seed > 0);
  }
}

#endif
