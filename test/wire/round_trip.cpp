/// Everything that both ends pack, on the host.

#include "round_trip.hpp"

#include "random_fields.hpp"

#include <doctest/doctest.h>

namespace {

TEST_CASE("what is packed comes back, whatever the fields") {
  gnstor::test::random_fields fields("round trip");
  for (int round = 0; round < gnstor::test::random_rounds; ++round) {
    const auto seed = fields.draw<std::uint64_t>();
    CAPTURE(seed);
    REQUIRE(gnstor::test::round_trip(seed).run().failures == 0);
  }
}

TEST_CASE("different fields are different bytes") {
  CHECK(gnstor::test::round_trip(1).run().digest != gnstor::test::round_trip(2).run().digest);
}

}  // namespace
