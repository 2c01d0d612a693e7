/// An SSD that is exchanged for another while it is written, and spares.
#include "rig.hpp"

#include <control/manager_control.hpp>

#include <chrono>

using namespace gnstor;
using namespace gnstor::test;
using host::ssd_standing;

namespace {

/// The volume by each of its places alone: every replica of each block is read.
bool every_replica_holds(managed_client& as, const wire::afa::volume_record& r,
                         const std::vector<unsigned char>& bytes) {
  for (std::uint32_t away = 0; away < r.ssd_count; ++away) {
    volume_info v = as.describe(r);
    // As if all SSDs at that place were absent.
    v.absent |= std::uint64_t{1} << away | v.others.of(std::uint64_t{1} << away);
    std::vector<unsigned char> found(bytes.size());
    if (!as.io.read(v, 0, std::as_writable_bytes(std::span(found))).ok() || found != bytes)
      return false;
  }
  return true;
}

bool serves_for(const host::array_state& a, std::uint32_t ssd, std::uint32_t place) {
  return a.settled && a.ssds[ssd].standing == ssd_standing::in_sync &&
         a.ssds[ssd].stands_in_for == place && a.ssds[place].standing == ssd_standing::absent;
}

}  // namespace

TEST_CASE("an SSD in the middle is exchanged for a spare, and no replica is missing") {
  managed_array array("emu:?ssds=5&capacity=16M&runner=cpu");
  array.manager->add_spare(4);
  CHECK(array.manager->state().ssds[4].aim == host::ssd_aim::spare);
  managed_client alice(array.shared, "alice");
  managed_client bob(array.shared, "bob");
  const auto data = array.create("data", 600);
  CHECK(data.record.ssd_count == 4);
  const auto busy = array.create("busy", 64);
  (void)array.manager->open(data.record.vid, alice.id(), true);
  (void)array.manager->open(busy.record.vid, bob.id(), true);
  const auto bytes = random_bytes(600 * block_bytes, 1);
  REQUIRE(alice.write(data.record, bytes).ok());
  const auto before = random_bytes(64 * block_bytes, 2);
  REQUIRE(bob.write(busy.record, before).ok());

  array.manager->drain(1);
  CHECK(!array.manager->find("data").degraded);
  CHECK(array.comes([](const host::array_state& a) { return serves_for(a, 4, 1); }));
  const host::array_state after = array.manager->state();
  CHECK(after.ssds[1].successor == 4);
  CHECK(after.ssds[1].volumes == 0);
  CHECK(after.ssds[4].volumes == 2);
  CHECK(after.degraded == 0);
  CHECK(every_replica_holds(alice, data.record, bytes));
  CHECK(every_replica_holds(bob, busy.record, before));
  const auto more = random_bytes(64 * block_bytes, 3);
  CHECK(bob.write(busy.record, more).ok());  // whose right nobody has taken
  CHECK(every_replica_holds(bob, busy.record, more));

  SUBCASE("another manager finds it so") {
    array.stop();
    array.start();
    CHECK(array.comes([](const host::array_state& a) { return serves_for(a, 4, 1); }));
    CHECK(every_replica_holds(alice, data.record, bytes));
  }
  SUBCASE("the one that left comes back, and the other one is a spare again") {
    array.manager->replace(1);
    CHECK(array.comes([](const host::array_state& a) {
      return a.settled && a.ssds[1].standing == ssd_standing::in_sync &&
             a.ssds[4].standing == ssd_standing::absent && !a.ssds[4].stands_in_for;
    }));
    CHECK(array.manager->state().ssds[4].aim == host::ssd_aim::spare);
    CHECK(array.manager->state().degraded == 0);
    CHECK(every_replica_holds(alice, data.record, bytes));
    CHECK(every_replica_holds(bob, busy.record, more));
  }
}

TEST_CASE("what is written while an SSD is exchanged is there afterwards") {
  managed_array array("emu:?ssds=5&capacity=16M&runner=cpu");
  array.settings.repair_bytes_per_s = 4 << 20;  // a second for 4 MiB
  array.stop();
  array.start();
  array.manager->add_spare(4);
  auto manager = std::make_unique<host::manager_control>(
      *array.manager, host::control_role::of_host(host::client_identity::named("alice").nqn), "");
  host::session alice =
      host::session_access::over(array.shared.where, shared_sessions::options("alice"),
                                 array.shared.link("alice"), std::move(manager));
  const volume_info v = alice.create_volume({.bytes = 2 << 20, .name = "data"});
  auto bytes = random_bytes(2 << 20, 4);
  alice.write(v, 0, bytes.data(), bytes.size());
  array.manager->drain(2);
  CHECK(array.manager->state().ssds[4].standing == ssd_standing::filling);
  CHECK(array.manager->state().ssds[2].standing == ssd_standing::in_sync);
  std::uint64_t round = 0;
  bool over = false;
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (; !over && std::chrono::steady_clock::now() < last; ++round) {
    const std::uint64_t at = round * 37 % 512 * block_bytes;
    const auto some = random_bytes(block_bytes, 100 + round);
    alice.write(v, at, some.data(), some.size());
    std::copy(some.begin(), some.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    over = serves_for(array.manager->state(), 4, 2);
  }
  CHECK(over);
  CHECK(round > 20);
  std::vector<unsigned char> found(bytes.size());
  for (const std::uint32_t away : {0u, 1u, 3u}) {  // the replicas of SSD 4 alone among others
    array.manager->detach(away, true);
    alice.read(v, 0, found.data(), found.size());
    CHECK(found == bytes);
    array.manager->replace(away);
    CHECK(array.comes_to(away, ssd_standing::in_sync));
  }
}

TEST_CASE("an exchange ends where it is called off, or where the new SSD fails") {
  managed_array array("emu:?ssds=6&capacity=16M&runner=cpu");
  array.settings.repair_bytes_per_s = 1 << 20;
  array.stop();
  array.start();
  managed_client alice(array.shared, "alice");
  array.manager->add_spare(5);
  array.manager->add_spare(4);
  const auto data = array.create("data", 600);
  (void)array.manager->open(data.record.vid, alice.id(), true);
  const auto bytes = random_bytes(600 * block_bytes, 5);
  REQUIRE(alice.write(data.record, bytes).ok());
  array.manager->drain(1);
  std::string words;
  CHECK(refused([&] { array.manager->drain(1); }, &words) == control_reason::busy);
  CHECK(words.find("being filled already") != std::string::npos);
  SUBCASE("called off") { array.manager->keep(1); }
  SUBCASE("the new one fails") { array.manager->detach(4); }
  SUBCASE("the manager ends, and the next one goes on") {
    array.stop();
    array.settings.repair_bytes_per_s = 0;
    array.start();
    CHECK(array.comes([](const host::array_state& a) { return serves_for(a, 4, 1); }));
    CHECK(every_replica_holds(alice, data.record, bytes));
    return;
  }
  const host::array_state a = array.manager->state();
  CHECK(a.ssds[1].standing == ssd_standing::in_sync);
  CHECK(!a.ssds[1].successor);
  CHECK(a.ssds[4].standing == ssd_standing::absent);
  CHECK(a.degraded == 0);
  CHECK(alice.write(data.record, bytes).ok());
  CHECK(every_replica_holds(alice, data.record, bytes));
  array.manager->exchange(1, 5);
  CHECK(array.manager->state().ssds[5].stands_in_for == 1);
}

TEST_CASE("a spare serves for an SSD that has failed, the longest absent first") {
  managed_array array("emu:?ssds=6&capacity=16M&runner=cpu");
  array.settings.spare_after = std::chrono::milliseconds(50);
  array.stop();
  array.start();
  array.manager->add_spare(5);
  array.manager->add_spare(4);
  managed_client alice(array.shared, "alice");
  const auto data = array.create("data", 300, 3);
  (void)array.manager->open(data.record.vid, alice.id(), true);
  const auto bytes = random_bytes(300 * block_bytes, 6);
  REQUIRE(alice.write(data.record, bytes).ok());
  array.manager->detach(2);
  CHECK(array.comes([](const host::array_state& a) { return serves_for(a, 4, 2); }));
  array.manager->detach(0);
  CHECK(array.comes([](const host::array_state& a) { return serves_for(a, 5, 0); }));
  CHECK(array.manager->state().degraded == 0);
  CHECK(every_replica_holds(alice, data.record, bytes));
  array.manager->detach(4);  // a stand-in may fail as well, and no spare is left
  CHECK(array.manager->state().degraded == 1);
  array.manager->replace(4);
  CHECK(array.comes([](const host::array_state& a) { return serves_for(a, 4, 2); }));
  CHECK(every_replica_holds(alice, data.record, bytes));
  std::string words;
  CHECK(refused([&] { array.manager->drain(1); }, &words) == control_reason::bad_request);
}

TEST_CASE("a place at which no spare can serve keeps none from another one") {
  managed_array array("emu:?ssds=8&capacity=16M&runner=cpu");
  array.settings.spare_after = std::chrono::milliseconds(50);
  array.stop();
  array.start();
  for (const std::uint32_t k : {7, 6, 5}) array.manager->add_spare(k);
  managed_client alice(array.shared, "alice");
  const auto data = array.create("data", 64, 3);
  (void)array.manager->open(data.record.vid, alice.id(), true);
  const auto bytes = random_bytes(64 * block_bytes, 8);
  REQUIRE(alice.write(data.record, bytes).ok());
  array.manager->detach(1);
  REQUIRE(array.comes([](const host::array_state& a) { return serves_for(a, 5, 1); }));
  array.manager->detach(2);
  REQUIRE(array.comes([](const host::array_state& a) { return serves_for(a, 6, 2); }));
  array.manager->detach(0);  // two stand in already: a third one cannot
  array.manager->detach(5);
  CHECK(array.comes([](const host::array_state& a) { return serves_for(a, 7, 1); }));
  CHECK(array.manager->state().ssds[0].standing == ssd_standing::absent);
}

TEST_CASE("an SSD does not come back beside another one where a volume has too many replicas") {
  managed_array array("emu:?ssds=9&capacity=16M&runner=cpu");
  array.manager->add_spare(8);
  (void)array.create("eight", 16, 8);
  array.manager->detach(1);
  array.manager->exchange(1, 8);
  REQUIRE(array.comes([](const host::array_state& a) { return serves_for(a, 8, 1); }));
  std::string words;
  CHECK(refused([&] { array.manager->replace(1); }, &words) == control_reason::bad_request);
  CHECK(words.find("has so many replicas") != std::string::npos);
  array.manager->detach(8);
  array.manager->replace(1);
  CHECK(array.comes([](const host::array_state& a) {
    return a.settled && a.ssds[1].standing == ssd_standing::in_sync;
  }));
}

TEST_CASE("what cannot be exchanged stays, and somebody hears why") {
  managed_array array("emu:?ssds=6&capacity=16M&runner=cpu");
  (void)array.create("narrow", 16);
  std::string words;
  const auto words_of = [&](const std::function<void()>& request, control_reason why) {
    CHECK(refused(request, &words) == why);
    return words;
  };
  CHECK(words_of([&] { array.manager->drain(1); }, control_reason::bad_request).find("--spare") !=
        std::string::npos);
  CHECK(words_of([&] { array.manager->add_spare(4); }, control_reason::bad_request)
            .find("volumes lie on it") != std::string::npos);
  CHECK(words_of([&] { array.manager->exchange(1, 3); }, control_reason::bad_request)
            .find("volumes lie on SSD 3") != std::string::npos);
  CHECK(
      words_of([&] { array.manager->exchange(1, 9); }, control_reason::unknown_ssd).find("SSD 9") !=
      std::string::npos);
  array.manager->remove(array.manager->find("narrow").record.vid, false);
  CHECK(words_of([&] { array.manager->add_spare(4); }, control_reason::bad_request)
            .find("SSD 5 behind it") != std::string::npos);
  array.manager->add_spare(5);
  array.manager->add_spare(4);
  array.manager->add_spare(3);
  (void)array.create("eight", 16, 3);
  CHECK(words_of([&] { array.manager->add(5); }, control_reason::bad_request)
            .find("SSD 3 before it is a spare") != std::string::npos);
  array.manager->detach(1, true);
  CHECK(words_of([&] { array.manager->drain(1); }, control_reason::bad_request).find("--with") !=
        std::string::npos);
  array.manager->exchange(1, 3);
  CHECK(array.comes([](const host::array_state& a) { return serves_for(a, 3, 1); }));
  array.manager->exchange(3, 4);  // who stands in is exchanged as well
  CHECK(array.comes([](const host::array_state& a) { return serves_for(a, 4, 1); }));
  CHECK(!array.manager->state().ssds[3].stands_in_for);
  array.manager->exchange(0, 3);
  CHECK(array.comes([](const host::array_state& a) { return serves_for(a, 3, 0); }));
  CHECK(words_of([&] { array.manager->exchange(2, 5); }, control_reason::no_room)
            .find("no more can") != std::string::npos);
  CHECK(words_of([&] { array.manager->exchange(2, 4); }, control_reason::bad_request)
            .find("serves in the place of SSD 1") != std::string::npos);
}

TEST_CASE("a volume on few SSDs is found while another one serves for the first of them") {
  managed_array array("emu:?ssds=4&capacity=16M&runner=cpu");
  for (const std::uint32_t k : {3, 2, 1}) array.manager->add_spare(k);
  managed_client alice(array.shared, "alice");
  const auto narrow = array.create("narrow", 64, 1);
  REQUIRE(narrow.record.ssd_count == 1);
  array.manager->keep(1);
  array.manager->replace(1);  // it takes part, and nothing lies on it
  REQUIRE(array.comes_to(1, ssd_standing::in_sync));
  array.manager->drain(0);
  REQUIRE(array.comes([](const host::array_state& a) { return serves_for(a, 2, 0); }));
  const auto all = alice.io.volumes(alice.io.describe());
  REQUIRE(all.size() == 1);
  CHECK(all[0].vid == narrow.record.vid);
}
