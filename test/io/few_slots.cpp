/// A warp's asynchronous operations on a channel of as many request slots as it has lanes.
#include "few_slots.hpp"

#include "qp/seed_sweep.hpp"

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("a step that was given up does not take the slot of one that was answered") {
  for (const auto mode : {simt::host::mode::seeded, simt::host::mode::weak}) {
    sweep(mode, 20, [](simt::host::options chosen) {
      few_slots_image image;
      chosen.ns_per_step = 10'000;
      simt::host::executor machine(chosen);
      machine.spawn(1, 2, give_up_beside_an_answer{}, image.state, image.record);
      const std::string thrown = run_to_end(machine);
      return thrown.empty() ? image.fault() : thrown;
    });
  }
}
