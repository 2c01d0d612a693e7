#include "collectives.hpp"

#include "run.hpp"

using namespace gnstor;
using namespace gnstor::test;

static_assert(simt::warp_group<simt::group>);

TEST_CASE("every collective gives what its definition says, in every mode") {
  for (host::mode mode : {host::mode::fast, host::mode::seeded, host::mode::weak}) {
    for (std::uint64_t seed = 0; seed < (mode == host::mode::fast ? 1 : 10); ++seed) {
      CAPTURE(seed);
      std::vector<collective_record> records(collective_grid * collective_block);
      host::executor machine({.run = mode, .seed = seed});
      machine.spawn(collective_grid, collective_block, collective_kernel{}, records.data());
      machine.run();
      check_collectives(records);
    }
  }
}

TEST_CASE("outside the runtime a group is the one calling thread") {
  const simt::group alone = simt::group::active();
  CHECK(alone.size() == 1);
  CHECK(alone.leads());
  CHECK(alone.ballot(1) == 1u);
  CHECK(alone.shfl(std::uint64_t{7}, 0) == 7);
  CHECK(alone.match_any(3u) == 1u);
  alone.sync();
}
