/// What another manager makes of what the SSDs know, after a crash of the first.

#include "rig.hpp"

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::volume_spread;

TEST_CASE("another manager takes over from what the SSDs know") {
  obedient_array a(3);
  a.create(1);
  a.create(2);
  REQUIRE(a.open(1, 10) == verdict::done);
  REQUIRE(a.open(1, 11, false) == verdict::done);
  a.fail(2);
  for (const std::uint32_t k : {0u, 1u})  // a removal that did not end
    a.states[k].volumes[2].spread = volume_spread::deleting;
  a.states[1].volumes.erase(2);
  a.states[0].volumes[3] = described(3);  // a creation likewise
  a.states[0].volumes[3].spread = volume_spread::creating;
  a.states[1].serving = {};  // it has not heard of the last epoch
  a.states[1].volumes[1].clients[a.states[1].volumes[1].client_count++] = {12, 1};  // an open
  a.states[2].dead = true;
  a.log.clear();
  a.take_over(5000);
  CHECK_FALSE(a.boss.knows_epoch());
  a.obey();
  CHECK(a.log.front() == "detach 2");  // its front end may have forgotten that
  CHECK(std::count(a.log.begin(), a.log.end(), "detach 2") == 1);  // nobody fails anew
  CHECK(a.boss.knows_epoch());
  CHECK(a.boss.published().epoch == 3);  // a dead SSD may have heard of 2
  CHECK(a.boss.published().absent == 4);
  CHECK(a.states[1].serving.epoch == 3);
  CHECK(a.boss.volumes().size() == 1);
  for (std::uint32_t k = 0; k < 2; ++k) {
    CHECK(a.states[k].volumes.size() == 1);
    CHECK(a.rights(k, 1, 10) == 3);  // it writes on
    CHECK(a.rights(k, 1, 11) == 1);
    CHECK(a.rights(k, 1, 12) == 1);
  }
  a.boss.open(100, 1, 10, true);
  a.obey();
  CHECK(a.repaired().kind == repair_kind::converge);
  CHECK(a.rights(1, 1, 10) == 3);
}

TEST_CASE("who takes over while a volume grew brings it to the new size everywhere") {
  obedient_array a(3);
  a.create(1);
  a.states[1].volumes[1].capacity_blocks = 200;
  a.take_over(5000);
  a.obey();
  for (std::uint32_t k = 0; k < 3; ++k) CHECK(a.states[k].volumes[1].capacity_blocks == 200);
  CHECK(a.boss.record_of(1)->capacity_blocks == 200);
}

TEST_CASE("who takes over finds SSDs gone or being filled") {
  obedient_array a(4);
  a.create(1, 2);
  a.create(2, 3);
  a.fail(3);
  a.replace(3);
  REQUIRE(a.repairs.size() == 1);
  a.take_over(5000);
  a.obey();
  CHECK(a.boss.published().filling == 8);
  REQUIRE(a.repairs.size() == 1);  // it goes on
  CHECK(a.repairs[0].kind == repair_kind::fill);
  CHECK(a.repairs[0].ssd == 3);
  a.states[0].dead = a.states[3].dead = true;
  a.take_over(6000);
  a.obey();
  CHECK(a.boss.published().absent == 9);
  CHECK(a.boss.published().filling == 0);
  CHECK(a.repairs.empty());
  CHECK(a.open(1, 10) == verdict::torn_volume);
  a.take_over(7000);  // from the epoch itself: nobody is asked who failed
  a.obey();
  CHECK(a.open(1, 10) == verdict::torn_volume);
  a.boss.open(200, 2, 10, true);
  a.obey();
  CHECK(a.repaired().kind == repair_kind::converge);
  CHECK(a.replies.back().said == verdict::done);
}

TEST_CASE("a volume whose SSDs have failed together is there again when they have been filled") {
  obedient_array a(3);
  a.create(1);
  a.create(2, 3);
  REQUIRE(a.open(1, 10) == verdict::done);
  a.boss.ssd_failed(0);
  a.fail(1);
  for (const std::uint32_t k : {0u, 1u}) {
    a.replace(k);
    a.take_over(5000);
    a.obey();
    if (k == 0) CHECK(a.open(1, 10) == verdict::torn_volume);
    CHECK(a.boss.volumes().size() == 2);
    for (std::uint32_t s = 0; s <= k; ++s) CHECK(a.states[s].volumes.size() == 2);
    CHECK(a.states[2].volumes.size() == 2);  // what is left is not thrown away
    CHECK(a.repaired().kind == repair_kind::fill);
  }
  CHECK(a.boss.published().absent == 0);
  CHECK(a.boss.published().filling == 0);
  a.boss.open(100, 1, 10, true);
  a.obey();
  CHECK(a.repaired().kind == repair_kind::converge);
  CHECK(a.replies.back().said == verdict::done);
  a.boss.remove(101, 1);
  CHECK(a.last().said == verdict::done);
  for (std::uint32_t k = 0; k < 3; ++k) CHECK_FALSE(a.states[k].volumes.contains(1));
}

TEST_CASE(
    "an SSD that answers blank has failed: what it should have is not deleted on the others") {
  obedient_array a(4);
  a.create(1);
  a.create(2, 3);
  REQUIRE(a.open(1, 10) == verdict::done);
  a.states[2] = {};  // somebody has put another one in its place
  a.take_over(5000);
  a.obey();
  CHECK(a.boss.volumes().size() == 2);
  CHECK(a.boss.published().absent == 4);
  for (const std::uint32_t k : {0u, 1u, 3u}) CHECK(a.states[k].volumes.size() == 2);
  a.replace(2);
  CHECK(a.boss.published().filling == 4);
  CHECK(a.states[2].volumes.size() == 2);
  CHECK(a.repaired().kind == repair_kind::fill);
  CHECK(a.boss.published().filling == 0);
}

TEST_CASE("a creation that was cut short is ended if any SSD knows it whole, else taken back") {
  for (const std::uint32_t informed : {0u, 1u, 3u}) {
    CAPTURE(informed);
    obedient_array a(3);
    std::uint32_t confirmed = 0;
    a.swallow = [&](const daemon::ssd_order& o) {  // the manager ends when so many are informed
      const bool confirms =
          o.opcode == admin_opcode::volume_add && o.record.spread == volume_spread::whole;
      return confirms && confirmed++ >= informed;
    };
    a.boss.create(1, described(1));
    a.obey();
    a.swallow = nullptr;
    a.take_over(5000);
    a.obey();
    CHECK(a.boss.volumes().size() == (informed == 0 ? 0 : 1));
    CHECK(a.boss.published().absent == 0);
    for (std::uint32_t k = 0; k < 3; ++k) {
      REQUIRE(a.states[k].volumes.size() == (informed == 0 ? 0 : 1));
      if (informed != 0) CHECK(a.states[k].volumes[1].spread == volume_spread::whole);
    }
  }
}

TEST_CASE("a removal that was cut short is ended if any SSD was informed of it, else never was") {
  for (const auto& [marked, deleted] : {std::pair{0u, 0u}, {1u, 0u}, {3u, 0u}, {3u, 2u}}) {
    CAPTURE(marked);
    CAPTURE(deleted);
    obedient_array a(3);
    a.create(1);
    std::uint32_t marks = 0;
    std::uint32_t deletions = 0;
    a.swallow = [&, most = marked, gone = deleted](const daemon::ssd_order& o) {
      if (o.opcode == admin_opcode::volume_chmod) return marks++ >= most;
      return o.opcode == admin_opcode::volume_delete && deletions++ >= gone;
    };
    a.boss.remove(100, 1);
    a.obey();
    a.swallow = nullptr;
    a.take_over(5000);
    a.obey();
    CHECK(a.boss.volumes().size() == (marked == 0 ? 1 : 0));
    CHECK(a.boss.published().absent == 0);
    for (std::uint32_t k = 0; k < 3; ++k)
      CHECK(a.states[k].volumes.size() == (marked == 0 ? 1 : 0));
  }
}

TEST_CASE("a writer that all SSDs know keeps its right over a take-over, for one full lease") {
  obedient_array a(3);
  a.create(1);
  REQUIRE(a.open(1, 10) == verdict::done);
  a.take_over(5000);
  a.obey();
  for (std::uint32_t k = 0; k < 3; ++k) CHECK(a.rights(k, 1, 10) == 3);
  a.boss.tick(5999);
  CHECK(a.open(1, 11) == verdict::busy);
  a.boss.renew(50, 1, 10);
  CHECK(a.last().lease_until == 6999);
  a.boss.tick(7000);
  a.boss.open(51, 1, 11, true);
  a.obey();
  CHECK(a.rights(0, 1, 10) == 1);
  CHECK(a.repaired().kind == repair_kind::converge);
  CHECK(a.rights(0, 1, 11) == 3);
}

TEST_CASE("a write right that some SSDs do not know, or that two clients have, is nobody's") {
  for (const bool two : {false, true}) {
    CAPTURE(two);
    obedient_array a(3);
    a.create(1);
    REQUIRE(a.open(1, 10) == verdict::done);
    auto& clients = a.states[2].volumes[1].clients;
    for (std::uint32_t k = 0; k < a.states[2].volumes[1].client_count; ++k) {
      if (clients[k].client != 10) continue;
      if (two) {
        clients[k].client = 11;
      } else {
        clients[k].rights = wire::afa::right_read;
      }
    }
    a.take_over(5000);
    a.obey();
    for (std::uint32_t k = 0; k < 3; ++k) {
      CHECK(a.rights(k, 1, 10) == 1);
      CHECK(a.rights(k, 1, 11) == (two ? 1 : 0));
    }
    a.boss.open(52, 1, 12, true);
    a.obey();
    CHECK(a.repaired().kind == repair_kind::converge);
    CHECK(a.rights(0, 1, 12) == 3);
  }
}

TEST_CASE("whom a volume lets read that was made without a manager stays admitted") {
  constexpr std::uint16_t admitted = wire::afa::right_admitted | wire::afa::right_read;
  obedient_array a(3);
  a.create(1);
  for (auto& s : a.states) {
    s.volumes[1].client_count = 2;
    s.volumes[1].clients[0] = {10, wire::afa::right_read | wire::afa::right_write};
    s.volumes[1].clients[1] = {11, wire::afa::right_read};
  }
  a.take_over(5000);
  a.obey();
  for (std::uint32_t k = 0; k < 3; ++k) {
    CAPTURE(k);
    CHECK(a.rights(k, 1, 10) == (admitted | wire::afa::right_write));
    CHECK(a.rights(k, 1, 11) == admitted);
  }
  for (const std::uint16_t client : {10, 11}) a.boss.client_gone(client);
  a.obey();
  for (const std::uint16_t client : {10, 11}) CHECK(a.rights(2, 1, client) == admitted);
}

TEST_CASE("of an array on which all agree a take-over changes nothing") {
  obedient_array a(3);
  a.create(1);
  a.create(2, 3);
  REQUIRE(a.open(1, 10) == verdict::done);
  REQUIRE(a.open(2, 11, false) == verdict::done);
  a.log.clear();
  a.take_over(5000);
  a.obey();
  for (const std::string& order : a.log) CHECK(order.starts_with("update"));
  CHECK(a.boss.volumes().size() == 2);
  a.boss.open(100, 2, 11, true);  // but who wrote before, and how far, nobody knows
  a.obey();
  CHECK(a.repaired().kind == repair_kind::converge);
}

TEST_CASE("a removal that an SSD refuses is reported, deletes nothing, and may be repeated") {
  obedient_array a(3);
  a.create(1);
  bool refuses = true;
  a.before_order = [&](const daemon::ssd_order& o) {
    if (o.opcode != admin_opcode::volume_chmod || o.ssd != 1) return;
    a.states[1].serving.epoch = refuses ? 9 : 1;  // it thinks to be in another epoch
  };
  a.boss.remove(100, 1);
  CHECK(a.last().said == verdict::refused);
  CHECK(a.boss.volumes().size() == 1);
  for (std::uint32_t k = 0; k < 3; ++k) CHECK(a.states[k].volumes.contains(1));
  refuses = false;
  a.boss.remove(101, 1);
  CHECK(a.last().said == verdict::done);
  for (std::uint32_t k = 0; k < 3; ++k) CHECK_FALSE(a.states[k].volumes.contains(1));
}
