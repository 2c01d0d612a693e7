/// The manager's core: leases, failures, new SSDs, and taking over from what the SSDs know.

#include "rig.hpp"
#include <daemon/client_rights.hpp>

#include <utility>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("the write right passes on when its holder is fenced and the replicas are equal") {
  obedient_array a(3);
  a.create(1);
  CHECK(a.open(1, 10) == verdict::done);
  CHECK(a.replies.back().lease_until == 1000);
  for (std::uint32_t k = 0; k < 3; ++k) CHECK(a.rights(k, 1, 10) == 3);
  CHECK(a.open(1, 11) == verdict::busy);
  CHECK(a.open(1, 11, false) == verdict::done);
  CHECK(a.rights(2, 1, 11) == 1);
  a.boss.tick(500);
  a.boss.renew(77, 1, 10);
  CHECK(a.last().lease_until == 1500);
  a.boss.renew(78, 1, 11);
  CHECK(a.last().said == verdict::lost_lease);
  a.boss.tick(1500);
  a.boss.open(79, 1, 11, true);
  a.obey();
  CHECK(a.replies.back().request == 78);  // it waits
  for (std::uint32_t k = 0; k < 3; ++k) {
    CHECK(a.rights(k, 1, 10) == 1);
    CHECK(a.rights(k, 1, 11) == 1);
    CHECK(a.rights(k, 1, 1) == 7);  // the repairer writes
  }
  a.boss.renew(80, 1, 10);
  CHECK(a.last().said == verdict::lost_lease);
  CHECK(a.repaired(false).kind == repair_kind::converge);
  CHECK(a.rights(0, 1, 11) == 1);  // it is tried again
  CHECK(a.repaired().vid == 1);
  CHECK(a.replies.back().request == 79);
  CHECK(a.replies.back().said == verdict::done);
  for (std::uint32_t k = 0; k < 3; ++k) {
    CHECK(a.rights(k, 1, 11) == 3);
    CHECK(a.rights(k, 1, 1) == 5);
  }
}

TEST_CASE("who has closed leaves equal replicas, or says that they may not be") {
  obedient_array a(2);
  a.create(1);
  REQUIRE(a.open(1, 10) == verdict::done);
  a.boss.close(90, 1, 10, true);
  CHECK(a.last().said == verdict::done);
  CHECK(a.rights(0, 1, 10) == 0);
  CHECK(a.open(1, 11) == verdict::done);
  CHECK(a.repairs.empty());
  CHECK(a.open(1, 11, false) == verdict::done);  // who may write keeps that
  CHECK(a.rights(1, 1, 11) == 3);
  a.boss.close(91, 1, 10, true);  // twice
  CHECK(a.last().said == verdict::done);
  CHECK(a.rights(1, 1, 11) == 3);
  CHECK(a.open(1, 12) == verdict::busy);  // who leaves takes nobody's lease along
  a.boss.close(92, 1, 11, false);
  CHECK(a.last().said == verdict::done);
  a.boss.open(93, 1, 10, true);
  a.obey();
  CHECK(a.repaired().kind == repair_kind::converge);
  CHECK(a.rights(1, 1, 10) == 3);
  a.boss.close(94, 1, 10, true);
  CHECK(a.open(1, 11) == verdict::done);  // equal since
  CHECK(a.repairs.empty());
}

TEST_CASE("a client whose connection is gone keeps nobody waiting for its lease") {
  obedient_array a(2);
  a.create(1);
  REQUIRE(a.open(1, 10) == verdict::done);
  CHECK(a.open(1, 11) == verdict::busy);
  a.boss.client_gone(10);
  a.boss.open(94, 1, 11, true);
  a.obey();
  CHECK(a.rights(0, 1, 10) == 0);
  CHECK(a.repaired().kind == repair_kind::converge);
  CHECK(a.rights(0, 1, 11) == 3);
}

TEST_CASE("clients that come and go leave room for others") {
  obedient_array a(3);
  a.create(1);
  a.create(2);
  for (std::uint16_t who = 10; who < 30; ++who) {
    CHECK(a.open(1, who, false) == verdict::done);
    CHECK(a.open(2, who, false) == verdict::done);
    if (who % 2 == 0) {
      a.boss.client_gone(who);
    } else {
      a.boss.close(95, 1, who, true);
      a.boss.close(96, 2, who, true);
    }
    a.obey();
    for (const std::uint16_t vid : {1, 2}) CHECK(a.rights(1, vid, who) == 0);
  }
  // The manager has one, and one is for who writes.
  constexpr std::uint16_t last = 30 + wire::afa::max_volume_clients - 2;
  for (std::uint16_t who = 30; who < last; ++who) CHECK(a.open(1, who, false) == verdict::done);
  CHECK(a.open(1, last, false) == verdict::refused);
  CHECK(a.open(1, last, true) == verdict::done);
  a.boss.client_gone(last);
  a.boss.client_gone(30);
  CHECK(a.open(1, last, false) == verdict::done);
  a.boss.client_gone(33);
  a.fail(1);
  a.replace(1);
  for (std::uint16_t who = 30; who <= last; ++who) {
    CAPTURE(who);
    for (std::uint32_t k = 0; k < 2; ++k)
      CHECK(a.rights(k, 1, who) == (who == 30 || who == 33 ? 0 : 1));
  }
}

TEST_CASE("who was admitted comes back after it has closed, is gone or was fenced; others do not") {
  constexpr std::uint16_t admitted = wire::afa::right_admitted | wire::afa::right_read;
  constexpr std::uint16_t writes = admitted | wire::afa::right_write;
  obedient_array a(3);
  a.create(1);
  a.boss.admit(80, 1, 10);
  CHECK(a.last().said == verdict::done);
  const auto all_say = [&](std::uint16_t who, std::uint16_t rights) {
    for (std::uint32_t k = 0; k < 3; ++k) CHECK(a.rights(k, 1, who) == rights);
  };
  all_say(10, admitted);
  for (const bool gone : {false, true}) {
    REQUIRE(a.open(1, 10) == verdict::done);
    all_say(10, writes);
    a.boss.admit(81, 1, 10);  // takes nothing from who writes
    a.obey();
    all_say(10, writes);
    if (gone) {
      a.boss.client_gone(10);
    } else {
      a.boss.close(82, 1, 10, true);
    }
    a.obey();
    all_say(10, admitted);
  }
  a.boss.open(90, 1, 11, true);  // its replicas may differ: they are compared first
  a.obey();
  REQUIRE(a.repaired().kind == repair_kind::converge);
  all_say(11, 3);
  a.boss.close(83, 1, 11, true);
  a.obey();
  all_say(11, 0);
  REQUIRE(a.open(1, 10) == verdict::done);
  a.boss.tick(2000);  // its lease is over
  a.boss.open(84, 1, 11, true);
  a.obey();
  all_say(10, admitted);
  a.repaired();
  all_say(11, 3);
  a.boss.expel(85, 1, 10);
  CHECK(a.last().said == verdict::done);
  all_say(10, 0);
  a.boss.admit(86, 1, 11);
  CHECK(a.last().said == verdict::done);
  a.boss.expel(87, 1, 11);  // also who writes
  CHECK(a.last().said == verdict::done);
  all_say(11, 0);
  a.boss.renew(88, 1, 11);
  CHECK(a.last().said == verdict::lost_lease);
  a.boss.expel(89, 7, 11);
  CHECK(a.last().said == verdict::unknown_volume);
}

TEST_CASE("while a manager stands still no lease ends") {
  obedient_array a(2);
  a.create(1);
  REQUIRE(a.open(1, 10) == verdict::done);
  REQUIRE(a.boss.lease_of(1)->until == 1000);
  a.boss.tick(990);
  a.boss.stood_still(50'000);
  a.boss.tick(50'990);
  CHECK(a.open(1, 11) == verdict::busy);
  a.boss.renew(81, 1, 10);
  CHECK(a.last().lease_until == 51'990);
  a.boss.tick(51'990);
  a.boss.stood_still(1000);
  a.boss.tick(52'990);
  a.boss.open(82, 1, 11, true);
  a.obey();
  (void)a.repaired();
  CHECK(a.replies.back().request == 82);
  CHECK(a.replies.back().said == verdict::done);
}

TEST_CASE("a writer renews its lease while others are let read, not while one is to take it") {
  obedient_array a(2);
  a.create(1);
  REQUIRE(a.open(1, 10) == verdict::done);
  std::vector<daemon::ssd_order> held;
  a.swallow = [&](const daemon::ssd_order& o) {
    held.push_back(o);
    return true;
  };
  a.boss.admit(80, 1, 11);
  a.obey();
  REQUIRE(!held.empty());  // the SSDs are being informed
  a.boss.renew(81, 1, 10);
  a.obey();
  CHECK(a.replies.back().request == 81);
  CHECK(a.replies.back().said == verdict::done);
  a.swallow = {};
  for (const daemon::ssd_order& o : std::exchange(held, {})) a.obey(o);
  a.obey();
  a.boss.tick(5000);
  a.swallow = [&](const daemon::ssd_order& o) {
    held.push_back(o);
    return true;
  };
  a.boss.open(82, 1, 11, true);
  a.obey();
  REQUIRE(!held.empty());
  a.boss.renew(83, 1, 10);
  a.obey();
  CHECK(a.replies.back().request == 83);
  CHECK(a.replies.back().said == verdict::lost_lease);
}

TEST_CASE("a client that is dismissed has no right to any volume, on any SSD, whatever fails") {
  obedient_array a(3);
  for (std::uint16_t vid = 1; vid <= 4; ++vid) a.create(vid);
  REQUIRE(a.open(1, 10) == verdict::done);
  a.boss.admit(80, 2, 10);
  a.boss.admit(81, 3, 10);
  a.boss.admit(82, 3, 11);
  REQUIRE(a.open(4, 11) == verdict::done);
  a.boss.open(83, 4, 10, false);
  a.obey();
  a.before_order = [&](const daemon::ssd_order& o) {
    if (o.vid != 2) return;
    a.before_order = {};
    a.states[2].dead = true;
  };
  a.boss.dismiss(84, 10);
  a.obey();
  CHECK(a.last().request == 84);
  CHECK(a.last().said == verdict::done);
  CHECK_FALSE(a.boss.lease_of(1).has_value());
  CHECK(a.boss.lease_of(4)->client == 11);
  for (const std::uint32_t ssd : {0u, 1u}) {
    for (auto& [vid, r] : a.states[ssd].volumes) {
      CAPTURE(ssd);
      CAPTURE(vid);
      CHECK_FALSE(daemon::has_rights(r, 10));
      CHECK(daemon::has_rights(r, 11) == (vid > 2));
    }
  }
  a.boss.open(85, 2, 10, false, 10);
  a.obey();
  CHECK(a.last().said == verdict::not_admitted);
}

TEST_CASE("a client that is dismissed does not get what it waits for") {
  obedient_array a(3);
  a.create(1);
  REQUIRE(a.open(1, 11) == verdict::done);
  a.boss.close(80, 1, 11, false);
  a.boss.open(81, 1, 10, true);
  a.obey();
  REQUIRE(a.repairs.size() == 1);  // its replicas are made equal
  a.boss.dismiss(82, 10);
  a.obey();
  CHECK(a.repairs.empty());
  const auto said = [&](std::uint64_t request) {
    return std::find_if(a.replies.begin(), a.replies.end(),
                        [=](const daemon::reply& r) { return r.request == request; })
        ->said;
  };
  CHECK(said(81) == verdict::not_admitted);
  CHECK(said(82) == verdict::done);
  CHECK_FALSE(a.boss.lease_of(1).has_value());
}

TEST_CASE("who was expelled while its opening waited is not let in") {
  obedient_array a(2);
  a.create(1);
  a.boss.admit(80, 1, 10);
  a.boss.expel(81, 1, 10);
  a.boss.open(82, 1, 10, true, 10);
  CHECK(a.last().said == verdict::not_admitted);
  CHECK(a.rights(0, 1, 10) == 0);
  a.boss.open(83, 1, 10, true);  // its owner, say
  CHECK(a.last().said == verdict::done);
}

TEST_CASE("requests that make no sense are answered with the reason") {
  obedient_array a(2);
  a.create(1);
  a.boss.create(95, described(1));
  CHECK(a.last().said == verdict::volume_exists);
  CHECK(a.open(2, 10) == verdict::unknown_volume);
  a.boss.remove(96, 2);
  CHECK(a.last().said == verdict::unknown_volume);
  a.boss.close(97, 2, 10, true);
  CHECK(a.last().said == verdict::unknown_volume);
  wire::afa::volume_record crowded = described(3);
  crowded.client_count = wire::afa::max_volume_clients;
  a.boss.create(98, crowded);
  CHECK(a.last().said == verdict::refused);
  a.states[1].full = true;
  a.boss.create(99, described(4));
  CHECK(a.last().said == verdict::refused);
  CHECK_FALSE(a.states[0].volumes.contains(4));  // nor anywhere else
  a.log.clear();
  a.boss.ssd_replaced(0);  // it had not failed
  a.obey();
  CHECK(a.log.empty());
}

TEST_CASE("a failed SSD leaves with the epoch, and a new one serves once it is filled") {
  obedient_array a(3);
  a.create(1);
  a.create(2, 1);
  a.log.clear();
  a.boss.ssd_failed(1);
  a.fail(1);
  CHECK(a.log == std::vector<std::string>{"detach 1", "update 0", "update 2"});
  CHECK(a.boss.published().epoch == 2);
  CHECK(a.boss.published().absent == 2);
  CHECK(a.open(1, 10) == verdict::done);
  CHECK(a.open(2, 10) == verdict::torn_volume);  // one replica: some of it was there alone
  a.log.clear();
  a.replace(1);
  CHECK(a.log == std::vector<std::string>{"update 1", "delete 1", "delete 1", "add 1", "add 1",
                                          "attach 1", "update 0", "update 1", "update 2"});
  CHECK(a.states[1].volumes.size() == 2);
  CHECK(a.offered == 2);  // of what nobody has the repair makes errors, not zeroes
  CHECK(a.open(2, 10) == verdict::torn_volume);
  CHECK(a.rights(1, 1, 10) == 3);
  CHECK(a.boss.published().filling == 2);
  const daemon::repair_order fill = a.repaired(false);
  CHECK(fill.kind == repair_kind::fill);
  CHECK(fill.ssd == 1);
  CHECK(a.boss.published().filling == 2);
  CHECK(a.repaired().kind == repair_kind::fill);
  CHECK(a.boss.published().epoch == 4);
  CHECK(a.boss.published().filling == 0);
  CHECK(a.open(2, 10) == verdict::done);
  CHECK(a.states[1].serving.epoch == 4);
}

TEST_CASE("a volume is deleted if it is the one that is meant, and nobody writes it by then") {
  obedient_array a(2);
  wire::afa::volume_record first = described(1);
  first.hash_factor = 71;
  a.boss.create(1, first);
  REQUIRE(a.last().said == verdict::done);
  // It was looked up; before the turn of its deletion comes somebody opens it.
  a.boss.open(2, 1, 10, true);
  a.boss.remove(3, 1, 71, false);
  CHECK(a.last().said == verdict::busy);
  CHECK(a.rights(0, 1, 10) == 3);
  a.boss.remove(4, 1, 71, false, 11);
  CHECK(a.last().said == verdict::busy);
  // Or somebody deletes it, and another one gets its VID.
  wire::afa::volume_record second = first;
  second.hash_factor = 72;
  a.boss.remove(5, 1, 71, false, 10);  // its own writer
  a.boss.create(6, second);
  a.boss.remove(7, 1, 71, true);
  CHECK(a.last().said == verdict::unknown_volume);
  for (const auto& s : a.states) CHECK(s.volumes.at(1).hash_factor == 72);
  a.boss.remove(8, 1);  // whichever there is
  CHECK(a.last().said == verdict::done);
}
