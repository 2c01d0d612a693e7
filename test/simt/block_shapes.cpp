/// Warps of blocks of any shape, on the host runtime.
#include "block_shapes.hpp"

#include "run.hpp"
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/step_together.hpp>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("warps are counted per block, in blocks of any shape") {
  for (const launch& how : launches) {
    CAPTURE(how.block.x);
    CAPTURE(how.block.y);
    for (const host::mode mode : {host::mode::fast, host::mode::seeded}) {
      std::vector<position> positions(how.grid.count() * how.block.count());
      host::executor machine({.run = mode, .seed = 3});
      machine.spawn(how.grid, how.block, record_position{}, positions.data());
      machine.run();
      check_positions(how, positions);
    }
  }
}

TEST_CASE("a thread outside of every kernel is warp 0 of 1") {
  CHECK(simt::warp_number() == 0);
  CHECK(simt::warp_count() == 1);
  CHECK(simt::lane<>().thread_at() == simt::coordinates{0, 0, 0});
}

TEST_CASE("the last warp of a block of any shape waits as one") {
  for (const launch& how : launches) {
    CAPTURE(how.block.x);
    CAPTURE(how.block.y);
    std::uint32_t together = 0;
    prepare_checks();
    host::executor machine;
    machine.spawn(how.grid, how.block, lambda_kernel{[&](auto& lane) {
                    const bool ended = simt::step_together(lane.warp(), deadline::never(),
                                                           [](bool) { return true; });
                    if (ended) device_word<std::uint32_t>(together).fetch_add(1, relaxed);
                  }});
    machine.run();
    CHECK(together == how.grid.count() * how.block.count());
  }
}
