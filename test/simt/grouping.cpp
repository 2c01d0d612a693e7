#include "run.hpp"
#include <gnstor/simt/atomic_ref.hpp>

#include <doctest/doctest.h>

#include <set>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("fast mode puts all lanes that wait at a call site into one group") {
  run({}, 1, 64, [](auto& lane) {
    if (lane.thread() % 2 == 0) return;
    CHECK(lane.coalesced().lanes() == 0xaaaaaaaau);
  });
}

TEST_CASE("a divergent branch groups differently by seed, and every group is legal") {
  std::set<std::uint32_t> sizes;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::uint32_t size_of[32] = {};
    run(seeded(seed), 1, 32, [&](auto& lane) {
      if (lane.thread() % 2 == 0) return;
      const simt::group g = lane.coalesced();
      size_of[lane.thread()] = g.size();
      CHECK((g.lanes() & ~0xaaaaaaaau) == 0);
      CHECK((g.lanes() >> lane.thread() & 1) == 1);
      CHECK(g.all(1));
      CHECK(g.ballot(g.leads()) == 1u);
      CHECK(g.broadcast(g.lanes()) == g.lanes());
      g.sync();
    });
    for (std::uint32_t lane = 1; lane < 32; lane += 2) sizes.insert(size_of[lane]);
  }
  CHECK(sizes.count(1) == 1);
  CHECK(sizes.count(16) == 1);
  CHECK(sizes.size() > 5);
}

TEST_CASE("lanes that wait at different call sites never share a group") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    run(seeded(seed), 1, 32, [](auto& lane) {
      if (lane.thread() < 16) {
        CHECK((lane.coalesced().lanes() & 0xffff0000u) == 0);
      } else {
        CHECK((lane.coalesced().lanes() & 0x0000ffffu) == 0);
      }
    });
  }
}

TEST_CASE("lanes in different iterations of a loop may share a group") {
  const std::uint64_t seed = first_seed(sweep_seeds, [](std::uint64_t s) {
    std::uint32_t mixed = 0;
    run(seeded(s), 1, 32, [&](auto& lane) {
      for (std::uint32_t round = 0; round < 4; ++round) {
        const simt::group g = lane.coalesced();
        const bool same = g.all(g.broadcast(round) == round);
        if (!same) device_word<std::uint32_t>(mixed).store(1, relaxed);
      }
    });
    return mixed != 0;
  });
  MESSAGE("first seed " << seed);
  CHECK(seed > 0);
}

TEST_CASE("lanes that have exited take no part in collectives and barriers") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    run(seeded(seed), 1, 96, [](auto& lane) {
      if (lane.thread() % 32 >= 20) return;
      CHECK(lane.warp().ballot(1) == 0x000fffffu);
      lane.sync_block();
      if (lane.thread() % 32 == 7) return;
      CHECK(lane.warp().match_any(1u) == (0x000fffffu & ~(1u << 7)));
      lane.sync_block();
    });
  }
}
