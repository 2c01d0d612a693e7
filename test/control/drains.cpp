/// An SSD that is emptied while others are written, and comes back to its share.
#include "rig.hpp"

#include <control/manager_control.hpp>

#include <algorithm>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// SSDs whose look at a volume is the whole volume: each replica of each block is read alone.
bool every_replica_holds(const managed_array& array, managed_client& as,
                         const wire::afa::volume_record& r,
                         const std::vector<unsigned char>& bytes) {
  for (std::uint32_t away = 0; away < r.ssd_count; ++away) {
    std::vector<unsigned char> found(bytes.size());
    const status s = as.in_any_epoch([&] {
      volume_info v = as.describe(r);
      v.set_membership(std::uint64_t{1} << away, 0, {});  // as if that one were absent
      return as.io.read(v, 0, std::as_writable_bytes(std::span(found)));
    });
    if (s.ok() && found == bytes) continue;
    const auto at = std::mismatch(found.begin(), found.end(), bytes.begin()).first - found.begin();
    MESSAGE("without SSD " << away << ": " << host::to_string(s) << ", other bytes from block "
                           << at / block_bytes << " on; the manager: "
                           << static_cast<int>(array.manager->find(r.vid).record.spread));
    return false;
  }
  return array.manager->find(r.vid).record.ssd_count == r.ssd_count;
}

bool is_drained(const host::array_state& a) {
  return a.ssds[3].aim == host::ssd_aim::drain && a.ssds[3].volumes == 0;
}

}  // namespace

TEST_CASE("an SSD is drained while another volume is written, and no replica is missing") {
  managed_array array;
  managed_client alice(array.shared, "alice");
  managed_client bob(array.shared, "bob");
  const auto data = array.create("data", 300);
  const auto busy = array.create("busy", 64);
  (void)array.manager->open(data.record.vid, alice.id(), true);
  (void)array.manager->open(busy.record.vid, bob.id(), true);
  const auto bytes = random_bytes(300 * block_bytes, 1);
  REQUIRE(alice.write(data.record, bytes).ok());
  array.manager->close(data.record.vid, alice.id(), true);
  (void)array.manager->open(data.record.vid, alice.id(), false);
  REQUIRE(every_replica_holds(array, alice, array.manager->find("data").record, bytes));

  array.manager->drain(3);
  const auto more = random_bytes(64 * block_bytes, 2);
  const auto writes = [&] { return bob.write(array.manager->find("busy").record, more); };
  for (std::uint32_t k = 0; k < 3 || !is_drained(array.manager->state()); ++k) {
    REQUIRE(k < 10'000);
    const status s = bob.in_any_epoch(writes);  // whose right nobody has taken
    CAPTURE(host::to_string(s));
    REQUIRE(s.ok());
  }
  CHECK(array.manager->find("busy").record.ssd_count == 3);
  CHECK(every_replica_holds(array, bob, array.manager->find("busy").record, more));
  const auto moved = array.manager->find("data");
  CHECK(moved.record.ssd_count == 3);
  CHECK(!moved.degraded);
  CHECK(every_replica_holds(array, alice, moved.record, bytes));
  array.manager->close(busy.record.vid, bob.id(), true);
  CHECK(array.create("new", 16).record.ssd_count == 3);

  array.manager->detach(3);
  CHECK(!array.manager->find("data").degraded);
  CHECK(every_replica_holds(array, alice, moved.record, bytes));
  (void)array.manager->open(busy.record.vid, bob.id(), false);
  CHECK(every_replica_holds(array, bob, array.manager->find("busy").record, more));

  array.manager->add(3);
  CHECK(array.comes([](const host::array_state& a) { return a.ssds[3].volumes == 3; }));
  const auto back = array.manager->find("data");
  CHECK(back.record.ssd_count == 4);
  CHECK(every_replica_holds(array, alice, back.record, bytes));
}

TEST_CASE("an SSD that cannot be drained stays, and somebody hears why") {
  managed_array array;  // 4 SSDs of 3904 blocks for volumes
  (void)array.create("wide", 64, 4);
  std::string words;
  CHECK(refused([&] { array.manager->drain(4); }) == control_reason::unknown_ssd);
  CHECK(refused([&] { array.manager->drain(1); }, &words) == control_reason::bad_request);
  CHECK(words.find("its last one only") != std::string::npos);
  CHECK(refused([&] { array.manager->drain(3); }, &words) == control_reason::bad_request);
  CHECK(words.find("4 replicas") != std::string::npos);
  array.manager->remove(array.manager->find("wide").record.vid, false);
  (void)array.create("large", 3 * 3904 / 2 + 1);
  CHECK(refused([&] { array.manager->drain(3); }, &words) == control_reason::no_room);
  CHECK(words.find("would be left") != std::string::npos);
  CHECK(refused([&] { array.manager->keep(3); }) == control_reason::bad_request);
  CHECK(array.manager->state().ssds[3].volumes == 1);
  CHECK(array.manager->state().ssds[3].aim == host::ssd_aim::none);
}

TEST_CASE("what is promised to new volumes does not count an SSD that is drained") {
  managed_array array;
  array.manager->drain(3);
  CHECK(refused([&] { (void)array.create("large", 3 * 3904 / 2 + 1); }) == control_reason::no_room);
  array.manager->keep(3);
  CHECK(array.create("large", 3 * 3904 / 2 + 1).record.ssd_count == 4);
}

TEST_CASE("a session that reads a volume reads it while it leaves an SSD, and afterwards") {
  managed_array array;
  const auto bytes = random_bytes(1 << 20, 7);
  auto manager = std::make_unique<host::manager_control>(
      *array.manager, host::control_role::of_host(host::client_identity::named("alice").nqn), "");
  host::session alice =
      host::session_access::over(array.shared.where, shared_sessions::options("alice"),
                                 array.shared.link("alice"), std::move(manager));
  const volume_info v = alice.create_volume({.bytes = bytes.size(), .name = "edges"});
  alice.write(v, 0, bytes.data(), bytes.size());
  alice.close_volume(v.vid);
  const volume_info seen = alice.open_read_only("edges");
  const auto reads = [&](const volume_info& by) {
    std::vector<unsigned char> found(bytes.size());
    alice.read(by, 0, found.data(), found.size());
    return found == bytes;
  };
  array.manager->drain(3);
  for (std::uint32_t k = 0; k < 3 || !is_drained(array.manager->state()); ++k) {
    REQUIRE(k < 10'000);
    REQUIRE(reads(seen));
  }
  CHECK(reads(seen));  // one replica of each block is where it was
  CHECK(alice.refresh(seen).ssd_count == 3);
  CHECK(reads(alice.refresh(seen)));
  array.manager->add(3);
  CHECK(array.comes([](const host::array_state& a) { return a.ssds[3].volumes == 1; }));
  CHECK(reads(seen));
  const volume_info again = alice.open_volume("edges");
  CHECK(again.writable);
  CHECK(again.ssd_count == 4);
}
