/// SSDs that fail, are detached and come back, under an array's manager.
#include "rig.hpp"

using namespace gnstor;
using namespace gnstor::test;
using host::ssd_standing;

namespace {

/// An array with one volume of 2 replicas that holds known bytes.
struct filled_array : managed_array {
  filled_array() {
    r = create("data", 1024).record;
    bytes = random_bytes(1024 * block_bytes, 7);
    (void)manager->open(1, writer.id(), true);
    REQUIRE(writer.write(r, bytes).ok());
  }
  managed_client writer{shared, "writer"};
  wire::afa::volume_record r{};
  std::vector<unsigned char> bytes;
};

}  // namespace

TEST_CASE("an SSD that stops serving is absent in the next epoch, and everything is still there") {
  filled_array array;
  const std::uint32_t before = array.manager->state().epoch;
  array.writer.link->inject_fault(2, "dead");
  REQUIRE(array.comes_to(2, ssd_standing::absent));
  const host::array_state now = array.manager->state();
  CHECK(now.epoch > before);
  CHECK(now.degraded == 1);
  CHECK(now.torn == 0);
  CHECK(array.writer.holds(array.r, array.bytes));
  const auto events = array.manager->events(1);
  CHECK(std::any_of(events.begin(), events.end(), [](const host::array_event& e) {
    return e.words.find("SSD 2 is absent") != std::string::npos;
  }));
}

TEST_CASE("an SSD that comes back is filled, and then any other may fail") {
  filled_array array;
  array.manager->detach(1);
  REQUIRE(array.comes_to(1, ssd_standing::absent));
  CHECK(refused([&] { array.manager->detach(1); }) == control_reason::bad_request);
  // What is written meanwhile it has never seen.
  array.bytes = random_bytes(array.bytes.size(), 8);
  REQUIRE(array.writer.write(array.r, array.bytes).ok());
  array.manager->replace(1);
  REQUIRE(array.comes_to(1, ssd_standing::in_sync));
  CHECK(array.manager->state().degraded == 0);
  for (const std::uint32_t other : {0u, 2u, 3u}) {
    CAPTURE(other);
    array.manager->detach(other);
    REQUIRE(array.comes_to(other, ssd_standing::absent));
    CHECK(array.writer.holds(array.r, array.bytes));
    array.manager->replace(other);
    REQUIRE(array.comes_to(other, ssd_standing::in_sync));
  }
}

TEST_CASE("an SSD that comes back has forgotten volumes that were deleted meanwhile") {
  filled_array array;
  array.manager->detach(3);
  REQUIRE(array.comes_to(3, ssd_standing::absent));
  array.manager->close(1, array.writer.id(), true);
  array.manager->remove(1, false);
  (void)array.create("another", 16);
  array.manager->replace(3);
  REQUIRE(array.comes_to(3, ssd_standing::in_sync));
  array.stop();
  array.start();
  REQUIRE(array.comes([](const host::array_state& a) { return a.settled; }));
  const auto volumes = array.manager->volumes();
  REQUIRE(volumes.size() == 1);
  CHECK(host::to_string(volumes[0].record.name) == "another");
}

TEST_CASE("with as many SSDs away as a volume has replicas it is not opened, and says so") {
  filled_array array;
  array.manager->close(1, array.writer.id(), true);
  for (const std::uint32_t ssd : {0u, 1u}) {
    array.manager->detach(ssd);
    REQUIRE(array.comes_to(ssd, ssd_standing::absent));
  }
  CHECK(array.manager->state().torn == 1);
  CHECK(refused([&] { (void)array.manager->open(1, array.writer.id(), false); }) ==
        control_reason::unavailable);
}

TEST_CASE("SSDs that are not there, or take part already, are refused") {
  managed_array array;
  CHECK(refused([&] { array.manager->detach(4); }) == control_reason::unknown_ssd);
  CHECK(refused([&] { array.manager->replace(9); }) == control_reason::unknown_ssd);
  CHECK(refused([&] { array.manager->replace(0); }) == control_reason::bad_request);
}
