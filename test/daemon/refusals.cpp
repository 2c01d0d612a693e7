/// What an SSD refuses half-way of what no client waits for: it is not taken as done, and repeated.

#include "rig.hpp"
#include <daemon/client_rights.hpp>

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::volume_spread;

namespace {

constexpr std::uint16_t writes = wire::afa::right_read | wire::afa::right_write;

/// Three SSDs with a volume, of which one refuses orders to change volumes.
struct stubborn_array : obedient_array {
  explicit stubborn_array(std::uint32_t who) : obedient_array(3) {
    create(1);
    swallow = [this, who](const daemon::ssd_order& o) {
      if (!refuses || o.ssd != who || !refuses(o)) return false;
      ++refused;
      boss.answered(o.id, wire::afa::make_status(wire::afa::status::stale_epoch));
      return true;
    };
  }
  /// Time goes by until what was refused is tried again.
  void wait() {
    now += options.try_again_ns;
    boss.tick(now);
    obey();
  }
  std::uint32_t holders(std::uint16_t vid) const {
    return static_cast<std::uint32_t>(std::count_if(
        states.begin(), states.end(), [=](const ssd& s) { return s.volumes.contains(vid); }));
  }

  /// Begins to spread a volume, VID 7, over the last SSD.
  void spread_some() {
    wire::afa::volume_record two = described(7);
    two.ssd_count = 2;
    two.hash_factor = 9;
    boss.create(90, two);
    REQUIRE(last().said == verdict::done);
    boss.spread(91, 7);
    obey();
  }

  std::function<bool(const daemon::ssd_order&)> refuses;  ///< null: nothing
  std::uint32_t refused = 0;
  std::uint64_t now = 5000;
};

bool changes(const daemon::ssd_order& o) { return o.opcode == admin_opcode::volume_chmod; }
bool marks_as_going(const daemon::ssd_order& o) {
  return changes(o) && o.chmod.spread == volume_spread::deleting;
}
bool deletes(const daemon::ssd_order& o) { return o.opcode == admin_opcode::volume_delete; }

}  // namespace

TEST_CASE("an SSD that refuses an epoch has failed, and is absent in the next one") {
  for (const bool by_failure : {true, false}) {
    CAPTURE(by_failure);
    stubborn_array a(1);
    a.refuses = [](const daemon::ssd_order& o) { return o.opcode == admin_opcode::array_update; };
    if (by_failure) {
      a.states[2].dead = true;
      a.boss.ssd_failed(2);
    } else {
      a.take_over(a.now);
    }
    a.obey();
    CHECK(a.refused == 1);
    CHECK(std::count(a.log.begin(), a.log.end(), "detach 1") == 1);
    CHECK(a.boss.published().absent == (by_failure ? 0b110u : 0b010u));
    CHECK(a.boss.knows_epoch());
    CHECK(a.states[0].serving.epoch == a.boss.published().epoch);
    CHECK(a.states[1].serving.epoch < a.boss.published().epoch);
  }
}

TEST_CASE("an epoch that every SSD refuses takes none of them out") {
  obedient_array a(2);
  a.create(1);
  std::uint32_t refused = 0;
  a.swallow = [&](const daemon::ssd_order& o) {
    if (o.opcode != admin_opcode::array_update) return false;
    ++refused;
    a.boss.answered(o.id, wire::afa::make_status(wire::afa::status::bad_payload_version));
    return true;
  };
  a.take_over(5000);
  a.obey();
  CHECK(refused == 2);
  CHECK(a.boss.published().absent == 0);
}

TEST_CASE("a removal that another manager goes on with deletes nothing before all SSDs know") {
  for (std::uint32_t who = 0; who < 3; ++who) {
    CAPTURE(who);
    stubborn_array a(who);
    for (std::uint32_t k = 0; k < 3; ++k)
      if (k != who) a.states[k].volumes[1].spread = volume_spread::deleting;
    a.refuses = marks_as_going;
    a.take_over(a.now);
    a.obey();
    CHECK(a.refused == 1);
    CHECK(a.holders(1) == 3);  // else who takes over next would find it as if nobody removed it
    a.boss.create(100, described(1));
    CHECK(a.last().said == verdict::busy);
    CHECK(a.open(1, 12) == verdict::busy);
    CHECK(a.open(1, 12, false) == verdict::done);
    a.take_over(a.now);  // that manager ends, too
    a.obey();
    CHECK(a.refused == 2);
    a.wait();
    CHECK(a.refused == 3);
    CHECK(a.holders(1) == 3);
    if (who == 1) {  // an SSD that is filled meanwhile is given it, too: who reads it reads on
      a.states[0].dead = true;
      a.fail(0);
      a.states[0].dead = false;
      a.replace(0);
      CHECK(a.holders(1) == 3);
      REQUIRE(a.repairs.size() == 1);
      CHECK(a.offered == 1);
      (void)a.repaired();
    }
    a.refuses = nullptr;
    a.wait();
    CHECK(a.holders(1) == 0);
    CHECK(a.boss.volumes().empty());
    a.create(1);
    CHECK(a.holders(1) == 3);
  }
}

TEST_CASE("a removal of which some SSD knows is repeated, and otherwise all stays as it was") {
  stubborn_array a(1);
  a.boss.tick(a.now);
  a.refuses = marks_as_going;
  a.boss.remove(100, 1);
  CHECK(a.last().said == verdict::refused);
  CHECK(a.boss.volumes().size() == 1);
  CHECK(a.holders(1) == 3);
  CHECK(a.open(1, 12, false) == verdict::done);
  CHECK(a.open(1, 12) == verdict::busy);  // on SSD 0 there is no way back
  a.wait();
  CHECK(a.refused == 2);
  a.refuses = nullptr;
  a.wait();
  CHECK(a.holders(1) == 0);
  CHECK(a.boss.volumes().empty());

  obedient_array none(3);
  none.create(1);
  none.swallow = [&](const daemon::ssd_order& o) {
    if (!marks_as_going(o)) return false;
    none.boss.answered(o.id, wire::afa::make_status(wire::afa::status::stale_epoch));
    return true;
  };
  none.boss.remove(100, 1);
  CHECK(none.last().said == verdict::refused);
  CHECK(none.open(1, 10) == verdict::done);
  none.swallow = nullptr;
  none.boss.tick(10'000'000'000);
  none.obey();
  CHECK(none.boss.volumes().size() == 1);
}

TEST_CASE("an SSD that does not delete what goes is asked again, and lets no other have its VID") {
  for (const bool taken_over : {false, true}) {
    CAPTURE(taken_over);
    stubborn_array a(1);
    a.refuses = deletes;
    if (taken_over) {
      for (std::uint32_t k = 0; k < 3; ++k) a.states[k].volumes[1].spread = volume_spread::deleting;
      a.take_over(a.now);
      a.obey();
    } else {
      a.boss.tick(a.now);
      a.boss.remove(100, 1);
      CHECK(a.last().said == verdict::done);
    }
    CHECK(a.refused == 1);
    CHECK(a.holders(1) == 1);
    a.boss.create(101, described(1));
    CHECK(a.last().said == verdict::busy);
    wire::afa::volume_record any = described(0);
    any.hash_factor = 7;
    a.boss.create(102, any);  // whichever VID is free
    CHECK(a.last().said == verdict::done);
    CHECK(a.last().vid == 2);
    a.refuses = nullptr;
    a.wait();
    CHECK(a.holders(1) == 0);
    CHECK(a.holders(2) == 3);
    a.create(1);
  }
}

TEST_CASE("a creation that is taken back is taken back where that is refused, too") {
  stubborn_array a(1);
  a.states[2].full = true;
  a.refuses = deletes;
  a.boss.tick(a.now);
  a.boss.create(100, described(5));
  CHECK(a.last().said == verdict::refused);
  CHECK(a.holders(5) == 1);
  a.states[2].full = false;
  a.boss.create(101, described(5));
  CHECK(a.last().said == verdict::busy);
  a.refuses = nullptr;
  a.wait();
  CHECK(a.holders(5) == 0);
  a.create(5);
}

TEST_CASE("a creation that a failure interrupts is taken back also where nobody heard of it") {
  stubborn_array a(2);
  a.boss.tick(a.now);
  std::uint64_t late = 0;
  a.refuses = [&](const daemon::ssd_order& o) { return late != 0 && o.vid == 5 && !deletes(o); };
  const auto refuse = a.swallow;
  a.swallow = [&](const daemon::ssd_order& o) {
    if (late == 0 && o.ssd == 2 && o.vid == 5) {  // it takes it, and its answer comes too late
      a.states[2].volumes[5] = o.record;
      late = o.id;
      a.boss.ssd_failed(0);
      return true;
    }
    return refuse(o);
  };
  wire::afa::volume_record one = described(5, 1);
  one.hash_factor = 9;
  a.states[0].dead = true;
  a.boss.create(100, one);
  CHECK(a.last().said == verdict::refused);
  a.boss.answered(late, 0);
  CHECK(a.holders(5) == 0);
}

TEST_CASE("what a spread that is given up leaves behind goes, also where that is refused first") {
  for (const bool taken_over : {false, true}) {
    CAPTURE(taken_over);
    stubborn_array a(2);
    a.boss.tick(a.now);
    a.spread_some();
    REQUIRE(a.repairs.size() == 1);
    REQUIRE(a.holders(7) == 3);
    a.refuses = deletes;
    if (taken_over) a.take_over(a.now);
    if (taken_over) a.obey();
    if (!taken_over) (void)a.repaired(false);
    CHECK(a.refused == 1);
    CHECK(a.holders(7) == 3);
    a.wait();
    CHECK(a.refused == 2);
    a.refuses = nullptr;
    a.now += a.options.try_again_ns;
    a.boss.tick(a.now);
    a.boss.spread(102, 7);  // before it: nothing of this is taken back afterwards
    CHECK(a.last().said == verdict::busy);
    CHECK(a.holders(7) == 2);
    a.boss.spread(103, 7);
    a.obey();
    while (!a.repairs.empty()) (void)a.repaired();
    CHECK(a.holders(7) == 3);
    CHECK(a.boss.record_of(7)->ssd_count == 3);
  }
}

TEST_CASE("a volume that was moved is not deleted before it is gone where it lay") {
  stubborn_array a(2);
  a.boss.tick(a.now);
  // It lies on two SSDs by now, and one of these does not know yet that all others do.
  for (std::uint32_t k = 0; k < 2; ++k) {
    a.states[k].volumes[1].ssd_count = 2;
    a.states[k].volumes[1].spread = volume_spread::moved;
  }
  a.refuses = deletes;
  a.take_over(a.now);
  a.obey();
  CHECK(a.holders(1) == 3);
  a.boss.remove(100, 1);
  CHECK(a.last().said == verdict::refused);
  CHECK(a.holders(1) == 3);
  a.refuses = nullptr;
  a.boss.remove(101, 1);
  CHECK(a.last().said == verdict::done);
  CHECK(a.holders(1) == 0);
}

TEST_CASE("a volume is created when every SSD knows that all have it, and else it is taken back") {
  for (std::uint32_t who = 0; who < 3; ++who) {
    CAPTURE(who);
    stubborn_array a(who);
    const auto confirms = [](const daemon::ssd_order& o) {
      return o.opcode == admin_opcode::volume_add && o.record.spread == volume_spread::whole;
    };
    a.boss.tick(a.now);
    a.refuses = confirms;
    a.boss.create(99, described(5));
    CHECK(a.last().said == verdict::refused);
    CHECK(a.holders(5) == 0);
    a.refuses = [&](const daemon::ssd_order& o) { return confirms(o) || changes(o); };
    a.boss.create(100, described(5));
    CHECK(a.last().said == verdict::refused);
    CHECK(a.boss.volumes().size() == 1);
    CHECK(a.holders(5) == 3);
    a.boss.create(101, described(5));
    CHECK(a.last().said == verdict::busy);
    a.refuses = changes;
    a.wait();
    CHECK(a.holders(5) == 3);
    a.refuses = nullptr;
    a.wait();
    CHECK(a.holders(5) == 0);
    a.create(5);
  }
}

TEST_CASE("a right that is on its way when a manager ends is nobody's before all SSDs agree") {
  stubborn_array a(1);
  REQUIRE(a.open(1, 10) == verdict::done);
  // The next one's, on one SSD alone: whoever takes over has all forget both.
  a.states[1].volumes[1].clients[a.states[1].volumes[1].client_count++] = {11, writes};
  a.refuses = changes;
  a.take_over(a.now);
  a.obey();
  CHECK(a.refused == 1);
  CHECK(a.rights(1, 1, 11) == writes);
  CHECK(a.open(1, 12) == verdict::busy);
  CHECK(a.open(1, 10) == verdict::busy);
  a.boss.spread(200, 1);
  CHECK(a.last().said == verdict::busy);
  a.boss.narrow(201, 1, 2);
  CHECK(a.last().said == verdict::busy);
  a.wait();
  CHECK(a.refused == 2);
  CHECK(a.open(1, 12) == verdict::busy);
  a.refuses = nullptr;
  a.wait();
  CHECK((a.rights(1, 1, 11) & wire::afa::right_write) == 0);
  a.boss.open(202, 1, 12, true);
  a.obey();
  CHECK(a.repaired().kind == repair_kind::converge);
  CHECK(a.last().said == verdict::done);
  for (std::uint32_t k = 0; k < 3; ++k) {
    CHECK(a.rights(k, 1, 12) == writes);
    CHECK((a.rights(k, 1, 10) & wire::afa::right_write) == 0);
    CHECK((a.rights(k, 1, 11) & wire::afa::right_write) == 0);
  }
}

TEST_CASE("a place that an SSD keeps for a volume becomes one, also where that is refused first") {
  stubborn_array a(1);
  for (const std::uint32_t k : {1u, 2u}) a.states[k].volumes[1].spread = volume_spread::creating;
  a.refuses = [](const daemon::ssd_order& o) { return o.opcode == admin_opcode::volume_add; };
  a.take_over(a.now);
  a.obey();
  CHECK(a.refused == 1);
  CHECK(a.states[2].volumes[1].spread == volume_spread::whole);
  CHECK(a.open(1, 10) == verdict::busy);
  wire::afa::volume_chmod longer{};
  longer.sets = wire::afa::volume_chmod::sets_capacity;
  longer.capacity_blocks = 200;
  a.boss.rename(100, 1, longer);
  CHECK(a.last().said == verdict::done);
  a.states[2].volumes[1].capacity_blocks = 100;  // and that one knows otherwise
  a.refuses = nullptr;
  a.wait();
  for (std::uint32_t k = 0; k < 3; ++k) {
    CHECK(a.states[k].volumes[1].spread == volume_spread::whole);
    CHECK(a.states[k].volumes[1].capacity_blocks == 200);
  }
}

TEST_CASE("where one SSD lacks a volume and another one refuses, that one counts") {
  stubborn_array a(1);
  REQUIRE(a.open(1, 10) == verdict::done);
  a.states[0].volumes.erase(1);  // it answers first
  a.refuses = changes;
  a.boss.close(100, 1, 10, false);
  CHECK(a.last().said == verdict::refused);
  CHECK(a.rights(1, 1, 10) == writes);
  CHECK(a.boss.lease_of(1)->client == 10);  // fenced by whoever is next
}

TEST_CASE("a removal that is repeated reaches an SSD that has come since") {
  stubborn_array a(1);
  a.boss.tick(a.now);
  a.refuses = marks_as_going;
  a.boss.remove(100, 1);
  CHECK(a.last().said == verdict::refused);
  a.fail(2);
  a.replace(2);
  (void)a.repaired();
  CHECK(a.states[2].volumes[1].spread == volume_spread::whole);
  a.refuses = nullptr;
  std::uint32_t informed = 0;
  a.before_order = [&](const daemon::ssd_order& o) {
    if (marks_as_going(o)) informed |= 1u << o.ssd;
    if (deletes(o)) CHECK(informed == 7);  // else who takes over then takes it for a volume
  };
  a.wait();
  CHECK(a.holders(1) == 0);
}

TEST_CASE("what a spread has left goes with the volume that is removed") {
  stubborn_array a(2);
  a.boss.tick(a.now);
  a.spread_some();
  a.refuses = deletes;
  (void)a.repaired(false);
  CHECK(a.holders(7) == 3);
  a.refuses = nullptr;
  a.boss.remove(102, 7);
  CHECK(a.last().said == verdict::done);
  CHECK(a.holders(7) == 0);
}

TEST_CASE("a growth that one SSD refuses comes to all, as none shrinks again") {
  stubborn_array a(1);
  a.boss.tick(a.now);
  a.refuses = changes;
  wire::afa::volume_chmod longer{};
  longer.sets = wire::afa::volume_chmod::sets_capacity;
  longer.capacity_blocks = 200;
  a.boss.rename(100, 1, longer);
  CHECK(a.last().said == verdict::refused);
  CHECK(a.states[1].volumes[1].capacity_blocks == 100);
  a.refuses = nullptr;
  a.wait();
  for (std::uint32_t k = 0; k < 3; ++k) CHECK(a.states[k].volumes[1].capacity_blocks == 200);
  CHECK(a.boss.record_of(1)->capacity_blocks == 200);
  CHECK(a.open(1, 10) == verdict::done);
}

TEST_CASE("a removal of which some SSD knows stays one, whatever else is refused meanwhile") {
  stubborn_array a(1);
  a.boss.tick(a.now);
  a.refuses = changes;
  a.boss.remove(100, 1);
  REQUIRE(a.last().said == verdict::refused);
  wire::afa::volume_chmod longer{};
  longer.sets = wire::afa::volume_chmod::sets_capacity;
  longer.capacity_blocks = 200;
  a.boss.rename(101, 1, longer);
  REQUIRE(a.last().said == verdict::refused);
  a.refuses = nullptr;
  a.wait();
  CHECK(a.holders(1) == 0);  // else somebody might write it, and a later manager delete that
  CHECK(a.boss.volumes().empty());
}

TEST_CASE("a VID that is drawn is nobody's, also where some are kept free") {
  stubborn_array a(1);
  a.boss.tick(a.now);
  for (const std::uint16_t vid : {2, 3}) a.create(vid);
  a.refuses = deletes;
  a.boss.remove(100, 1);
  REQUIRE(a.last().said == verdict::done);
  a.boss.remove(101, 2);
  REQUIRE(a.last().said == verdict::done);
  wire::afa::volume_record any = described(0);
  any.hash_factor = 7;
  a.boss.create(102, any);
  CHECK(a.last().said == verdict::done);
  CHECK(a.last().vid == 4);
}

TEST_CASE("a move that was announced is not ended before the SSD that refused it agrees") {
  stubborn_array a(1);
  // SSD 2 is about to be left, and SSD 1 has not heard where the volume lies by now.
  a.states[0].volumes[1].ssd_count = 2;
  a.states[0].volumes[1].spread = volume_spread::moved;
  for (const std::uint32_t k : {1u, 2u}) a.states[k].volumes[1].spread = volume_spread::gathering;
  a.refuses = changes;
  a.take_over(a.now);
  a.obey();
  CHECK(a.refused >= 1);
  CHECK(a.holders(1) == 3);
  a.refuses = nullptr;
  for (int n = 0; n < 4; ++n) a.wait();
  CHECK(a.holders(1) == 2);
  for (const std::uint32_t k : {0u, 1u}) CHECK(a.states[k].volumes[1].ssd_count == 2);
}
