/// A whole array under faults drawn from seeds: no acknowledged write is lost, nobody reads what is
/// not there, and at rest all replicas are equal.
/// GNSTOR_SEEDS=n runs n seeds, GNSTOR_SEED=s only s, GNSTOR_OPERATIONS=n as many requests a seed;
/// GNSTOR_WATCH_VOLUME=v and GNSTOR_WATCH_BLOCK=b print what happens to one block.

#include "under_tsan.hpp"
#include "world.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace gnstor::test;

namespace {

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* said = std::getenv(name);
  return said == nullptr ? otherwise : std::strtoull(said, nullptr, 10);
}

/// A fault that never happens proves nothing.
void expect_each_kind(const scene::tally& all) {
  CHECK(all.power_cuts > 10);
  CHECK(all.unsaved > 1);
  CHECK(all.deaths > 10);
  CHECK(all.silences > 10);
  CHECK(all.partitions > 10);
  CHECK(all.late_orders > 10);
  CHECK(all.late_refused > 10);
  CHECK(all.refusals > 100);
  CHECK(all.front_end_cuts > 10);
  CHECK(all.returns > 10);
  CHECK(all.maintenances > 100);
  CHECK(all.kept > 5);
  CHECK(all.kept_partly > 20);
  CHECK(all.forgotten > 100);
  CHECK(all.fences > 10);
  CHECK(all.corrupted > 10);
  CHECK(all.damages > 5);
  CHECK(all.forgeries > 100);
  CHECK(all.client_deaths > 10);
  CHECK(all.manager_crashes > 10);
  CHECK(all.hand_overs > 100);
  CHECK(all.recreations > 10);
  CHECK(all.spreads > 10);
  CHECK(all.drains > 10);
  CHECK(all.beside > 10);
  CHECK(all.exchanged > 10);
  CHECK(all.calls_off > 10);
  CHECK(all.stand_ins > 5);
  CHECK(all.homecomings > 2);
  CHECK(all.stalls > 100);
  CHECK(all.repairs > 100);
  CHECK(all.lost_blocks > 100);
  CHECK(all.lost_volumes > 1);
}

}  // namespace

TEST_CASE("an array under every fault loses nothing that it has acknowledged") {
  const std::uint64_t only = number("GNSTOR_SEED", 0);
  const std::uint64_t first = only != 0 ? only : number("GNSTOR_FIRST_SEED", 1);
  const std::uint64_t usual = under_tsan ? 20 : number("GNSTOR_QUICK", 0) != 0 ? 150 : 300;
  const std::uint64_t seeds = only != 0 ? 1 : number("GNSTOR_SEEDS", usual);
  const std::uint64_t operations = number("GNSTOR_OPERATIONS", 1000);
  scene::tally all;
  judge::tally requests;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    std::string broken;
    world w(seed);
    if (const std::uint64_t vid = number("GNSTOR_WATCH_VOLUME", 0))
      w.checker().watch(static_cast<std::uint16_t>(vid),
                        static_cast<std::uint32_t>(number("GNSTOR_WATCH_BLOCK", 0)));
    try {
      w.run(operations);
    } catch (const broken_promise& b) {
      broken = b.what;
    }
    CAPTURE(seed);
    if (!broken.empty()) {
      FAIL_CHECK("step " << w.steps() << ": " << broken << "\nGNSTOR_SEED=" << seed << ", "
                         << w.story());
    }
    requests.add(w.judged());
    all.add(w.happened());
    if (!broken.empty()) return;
  }
  if (seeds >= 100) {
    expect_each_kind(all);
    for (const std::uint64_t excused : requests.excused) CHECK(excused > 0);
  }
  MESSAGE(all.power_cuts
          << " power cuts, " << all.unsaved << " SSDs with too little energy, " << all.deaths
          << " SSDs died, " << all.silences << " were silent, " << all.partitions
          << " cut off from the manager, " << all.late_orders << " orders of former managers, "
          << all.late_refused << " refused, " << all.refusals << " other orders refused, "
          << all.front_end_cuts << " times no front end heard, " << all.maintenances
          << " taken out, " << all.kept << " volumes brought back, " << all.kept_partly
          << " but for " << all.forgotten << " stripes, with " << all.fences
          << " pauses of writers, " << all.corrupted << " entries corrupted, " << all.damages
          << " pages damaged, " << all.forgeries << " commands forged, " << all.client_deaths
          << " clients died, " << all.manager_crashes << " managers crashed, " << all.hand_overs
          << " leases granted, " << all.recreations << " volumes removed, " << all.spreads
          << " spread, " << all.drains << " drained, " << all.beside << " of these written, "
          << all.exchanges << " SSDs to be exchanged, " << all.calls_off << " not any more, "
          << all.exchanged << " exchanged, " << all.stand_ins << " stood in for, "
          << all.homecomings << " back at their places, " << all.stalls << " engines stood still, "
          << all.repairs << " repairs, " << all.lost_blocks << " blocks lost with all replicas, "
          << all.lost_volumes << " volumes with all SSDs");
  MESSAGE(requests.describe());
}
