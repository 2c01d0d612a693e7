#include "together.hpp"

#include "run.hpp"

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("the grids of a run go on together, in every mode") {
  for (host::mode mode : {host::mode::fast, host::mode::seeded, host::mode::weak}) {
    for (std::uint64_t seed = 0; seed < (mode == host::mode::fast ? 1 : 20); ++seed) {
      mailbox box{};
      host::executor machine({.run = mode, .seed = seed});
      machine.spawn_in(host::domain::nic, 1, 1, server_kernel{}, &box);
      machine.spawn(1, 1, client_kernel{}, &box);
      machine.run();
      CHECK(box.served == exchanges);
      CHECK(box.wrong == 0);
    }
  }
}
