/// Volumes that come to lie on one SSD fewer: in order, with SSDs that fail and managers that crash
/// at any order; and SSDs that are emptied volume by volume.

#include "rig.hpp"
#include <daemon/client_rights.hpp>

using namespace gnstor;
using namespace gnstor::test;
using daemon::ssd_aim;
using wire::afa::volume_spread;

namespace {

/// Five SSDs, and a volume over all of them, that client 20 may read.
struct full_array : obedient_array {
  full_array() : obedient_array(5) {
    create(1);
    REQUIRE(open(1, 20, false) == verdict::done);
    log.clear();
  }
  void narrow(std::uint32_t last = 4) { boss.narrow(++request, 1, last); }
  /// Carries out whatever there is to do, repairs included.
  void settle() {
    obey();
    for (int n = 0; n < 200 && !repairs.empty(); ++n) {
      const daemon::repair_order r = repairs.front();
      repairs.erase(repairs.begin());
      if (r.kind == repair_kind::drain) copied.push_back(r.vid);
      boss.finished(r.id, repairs_end_well);
      obey();
    }
  }
  bool knows(std::uint32_t k, std::uint16_t vid = 1) { return states[k].volumes.contains(vid); }
  const wire::afa::volume_record& at(std::uint32_t k) { return states[k].volumes[1]; }
  /// Every living SSD says the same, and it is one of two things.
  /// @return true if the volume lies on the first four
  bool is_narrow() {
    const std::uint32_t count = boss.volumes().at(0).ssd_count;
    REQUIRE((count == 4 || count == 5));
    for (std::uint32_t k = 0; k < 5; ++k) {
      if (states[k].dead) continue;
      CAPTURE(k);
      CHECK(knows(k) == (k < count));
      if (!knows(k)) continue;
      CHECK(at(k).ssd_count == count);
      CHECK(!daemon::is_moving(at(k).spread));
      CHECK(rights(k, 1, 20) == wire::afa::right_read);
    }
    return count == 4;
  }

  bool repairs_end_well = true;
  std::vector<std::uint16_t> copied;
};

/// Looks at each order of a change: the last SSD keeps its share until nobody asks for it, and no
/// SSD drops anything before it has lost the volume.
struct watch {
  full_array& a;
  std::uint32_t epoch_of_moving = 0;  ///< the last in which an SSD was informed

  void operator()(const daemon::ssd_order& o) {
    const bool changes = o.opcode == admin_opcode::volume_chmod;
    if (changes && o.chmod.spread == volume_spread::gathering) CHECK(o.chmod.ssd_count == 5);
    if (changes && o.chmod.spread == volume_spread::moved) {
      for (std::uint32_t k = 0; k < 4; ++k)
        if (!a.states[k].dead) CHECK(daemon::is_moving(a.at(k).spread));
      epoch_of_moving = o.epoch;
    }
    if (o.opcode == admin_opcode::volume_delete) {
      CHECK(o.ssd == 4);
      CHECK(o.epoch > epoch_of_moving);
      CHECK(a.boss.published().epoch == o.epoch);
    }
    if (!changes || o.chmod.spread != volume_spread::dropping) return;
    CHECK(o.epoch > epoch_of_moving);
    if (!a.states[4].dead) CHECK(a.knows(4) == (o.chmod.ssd_count == 5));
  }
};

}  // namespace

TEST_CASE("a volume leaves its last SSD: gathered, announced, in another epoch, deleted, dropped") {
  full_array a;
  a.before_order = watch{a};
  const std::uint32_t before = a.boss.published().epoch;
  a.narrow();
  a.obey();
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].kind == repair_kind::drain);
  CHECK(a.repairs[0].ssd == 4);
  CHECK(!a.repairs[0].zeroes);  // nothing was ever dropped
  for (std::uint32_t k = 0; k < 5; ++k) {
    CHECK(a.at(k).ssd_count == 5);
    CHECK(a.at(k).spread == volume_spread::gathering);
    CHECK(a.rights(k, 1, 20) == wire::afa::right_read);  // it reads on
  }
  CHECK(a.boss.volumes()[0].ssd_count == 5);
  a.settle();
  CHECK(a.replies.back().request == a.request);
  CHECK(a.replies.back().said == verdict::done);
  CHECK(a.is_narrow());
  CHECK(a.boss.published().epoch == before + 1);
  a.narrow();  // it does not lie there
  CHECK(a.last().said == verdict::done);
  CHECK(a.boss.published().epoch == before + 1);
  // It is written as before, and may be spread again, and leave again.
  CHECK(a.open(1, 21) == verdict::done);
  a.boss.close(++a.request, 1, 21, true);
  a.before_order = nullptr;
  a.boss.spread(++a.request, 1);
  a.settle();
  CHECK(a.replies.back().said == verdict::done);
  CHECK(a.boss.volumes()[0].ssd_count == 5);
  a.narrow();
  a.obey();
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].zeroes);  // an SSD may find what it has dropped
  a.settle();
  CHECK(a.is_narrow());
}

TEST_CASE(
    "nobody begins to write a volume while it leaves an SSD, others are written and it is read") {
  full_array a;
  REQUIRE(a.open(1, 20) == verdict::done);
  a.boss.tick(2000);  // the lease is over, and its holder says nothing
  a.narrow();
  a.obey();
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].kind == repair_kind::converge);
  (void)a.repaired();
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].kind == repair_kind::drain);
  const std::uint64_t asked = a.request;
  a.boss.renew(++a.request, 1, 20);
  CHECK(a.last().said == verdict::lost_lease);
  CHECK(a.open(1, 22, false) == verdict::done);
  wire::afa::volume_record other = described(2);
  a.boss.create(++a.request, other);
  CHECK(a.last().said == verdict::done);  // the copy holds up nobody else
  CHECK(a.open(2, 21) == verdict::done);
  a.boss.open(++a.request, 1, 21, true);
  a.obey();
  CHECK(a.replies.back().request != a.request);  // it waits
  a.settle();
  CHECK(a.replies.back().request == a.request);
  CHECK(a.replies.back().said == verdict::done);
  CHECK(std::any_of(a.replies.begin(), a.replies.end(), [&](const daemon::reply& r) {
    return r.request == asked && r.said == verdict::done;
  }));
  CHECK(a.boss.volumes()[0].ssd_count == 4);
  CHECK(a.rights(4, 1, 21) == 0);
  CHECK(a.rights(3, 1, 22) == wire::afa::right_read);
}

TEST_CASE("only the last SSD of a volume can be left, and never more than replicas allow") {
  full_array a;
  a.boss.narrow(++a.request, 7, 4);
  CHECK(a.last().said == verdict::unknown_volume);
  a.narrow(2);
  CHECK(a.last().said == verdict::refused);
  wire::afa::volume_record r = described(2);
  r.ssd_count = 2;
  a.boss.create(++a.request, r);
  REQUIRE(a.last().said == verdict::done);
  a.boss.narrow(++a.request, 2, 1);
  CHECK(a.last().said == verdict::refused);
  a.repairs_end_well = false;
  a.narrow();
  a.settle();
  CHECK(a.replies.back().said == verdict::failed);
  CHECK(a.boss.volumes()[0].ssd_count == 5);
  for (std::uint32_t k = 0; k < 5; ++k) CHECK(a.at(k).spread == volume_spread::dropping);
  a.repairs_end_well = true;
  a.fail(0);
  a.narrow();  // what SSD 0 were given would be a replica less
  CHECK(a.last().said == verdict::busy);
  a.fail(1);
  a.narrow();
  CHECK(a.last().said == verdict::torn_volume);
}

TEST_CASE("an SSD that dies when it has gathered: the one that was to be left keeps its share") {
  for (const std::uint16_t replicas : {std::uint16_t{1}, std::uint16_t{2}}) {
    obedient_array a(3);
    wire::afa::volume_record r = described(1, replicas);
    r.ssd_count = replicas + 1u;
    a.boss.create(++a.request, r);
    REQUIRE(a.last().said == verdict::done);
    a.boss.narrow(++a.request, 1, replicas);
    a.obey();
    REQUIRE(a.repairs.size() == 1);
    const std::uint64_t copy = a.repairs[0].id;
    a.repairs.clear();
    a.boss.finished(copy, true);
    a.states[0].dead = true;
    a.boss.ssd_failed(0);
    a.obey();
    CHECK(a.replies.back().said == verdict::failed);
    CHECK(a.boss.volumes()[0].ssd_count == replicas + 1u);
    CHECK(a.states[replicas].volumes.contains(1));
  }
}

TEST_CASE("an SSD that dies when others are informed: nothing is deleted that nobody else has") {
  obedient_array a(2);
  a.create(1, 1);
  bool informed = false;
  a.before_order = [&](const daemon::ssd_order& o) {
    informed = informed || o.chmod.ssd_count == 1;
    if (informed) a.states[0].dead = true;
  };
  a.boss.narrow(++a.request, 1, 1);
  a.obey();
  REQUIRE(a.repairs.size() == 1);
  (void)a.repaired();
  REQUIRE(a.states[0].dead);
  CHECK(a.replies.back().said == verdict::failed);
  CHECK(a.states[1].volumes.contains(1));
  a.before_order = nullptr;
  SUBCASE("the next manager finds it where it was") {
    a.take_over(50);
    a.obey();
    REQUIRE(a.boss.volumes().size() == 1);
    CHECK(a.boss.volumes()[0].ssd_count == 2);
    a.replace(0);
    (void)a.repaired();
    CHECK(a.states[0].volumes[1].ssd_count == 2);
    a.boss.open(++a.request, 1, 20, true);
    a.obey();
    (void)a.repaired();
    CHECK(a.replies.back().said == verdict::done);
  }
  SUBCASE("it is deleted, and nothing of it is found again") {
    a.boss.remove(++a.request, 1);
    CHECK(a.last().said == verdict::done);
    CHECK(!a.states[1].volumes.contains(1));
    a.take_over(50);
    a.obey();
    CHECK(a.boss.volumes().empty());
  }
  SUBCASE("this one finishes when the SSD is back") {
    a.replace(0);
    (void)a.repaired();
    a.boss.tick(1'000'000'001);
    a.obey();
    CHECK(!a.states[1].volumes.contains(1));
    CHECK(a.states[0].volumes[1].ssd_count == 1);
    CHECK(a.open(1, 20) == verdict::done);
  }
}

TEST_CASE("an SSD that dies at any order of a drain leaves a volume that is narrower or is not") {
  std::uint32_t narrow = 0;
  std::uint32_t wide = 0;
  for (std::uint32_t victim = 0; victim < 5; ++victim) {
    for (std::uint32_t at = 1; at < 40; ++at) {
      for (const bool carried_out : {false, true}) {
        CAPTURE(victim);
        CAPTURE(at);
        CAPTURE(carried_out);
        full_array a;
        std::uint32_t n = 0;
        watch w{a};
        a.before_order = [&](const daemon::ssd_order& o) {
          w(o);
          if (++n == at && !carried_out) a.states[victim].dead = true;
        };
        a.swallow = [&](const daemon::ssd_order& o) {
          if (n != at || !carried_out || o.ssd != victim || a.states[victim].dead) return false;
          std::uint16_t status = 0;
          obedient_array::carry_out(a.states[victim], o, status, 5);  // and dies before it says so
          a.states[victim].dead = true;
          a.boss.ssd_failed(victim);
          return true;
        };
        a.narrow();
        a.settle();
        if (!a.states[victim].dead) continue;
        a.fail(victim);
        a.settle();
        const bool all = a.is_narrow();
        CHECK(a.replies.back().said == (all ? verdict::done : verdict::failed));
        (all ? narrow : wide) += 1;
        a.before_order = nullptr;
        a.swallow = nullptr;
        a.replace(victim);
        a.settle();
        CHECK(a.is_narrow() == all);
        if (!all) a.narrow();
        if (!all) a.settle();
        CHECK(a.is_narrow());
      }
    }
  }
  CHECK(narrow > 50);
  CHECK(wide > 20);
}

TEST_CASE("a manager that takes over in the middle of a drain finishes it or takes it back") {
  std::uint32_t narrow = 0;
  std::uint32_t wide = 0;
  for (const bool spread_before : {false, true}) {
    for (std::uint32_t at = 1; at < 60; ++at) {
      for (const int dies : {-1, 2, 4}) {  // an SSD with it
        CAPTURE(at);
        CAPTURE(dies);
        full_array a;
        if (spread_before) {
          a.narrow();
          a.settle();
          a.boss.spread(++a.request, 1);
          a.settle();
        }
        std::uint32_t n = 0;
        bool crashed = false;
        a.swallow = [&](const daemon::ssd_order&) {
          crashed = crashed || ++n == at;
          return crashed;
        };
        a.narrow();
        a.settle();
        if (!crashed) continue;
        bool informed = false;  // some SSD that lives knows the end
        for (std::uint32_t k = 0; k < 4; ++k)
          informed = informed || (static_cast<int>(k) != dies && a.at(k).ssd_count == 4);
        if (dies >= 0) a.states[static_cast<std::size_t>(dies)].dead = true;
        a.swallow = nullptr;
        a.take_over(50);
        a.settle();
        REQUIRE(a.boss.volumes().size() == 1);
        CHECK(a.is_narrow() == informed);
        (informed ? narrow : wide) += 1;
        if (dies >= 0) a.replace(static_cast<std::uint32_t>(dies));
        a.settle();
        CHECK(a.is_narrow() == informed);
        a.narrow();
        a.settle();
        CHECK(a.replies.back().said == verdict::done);
        CHECK(a.is_narrow());
      }
    }
  }
  CHECK(narrow > 20);
  CHECK(wide > 20);
}

TEST_CASE("an SSD that refuses an order of a drain half-way: nobody writes until it is finished") {
  for (const volume_spread refused :
       {volume_spread::gathering, volume_spread::moved, volume_spread::dropping}) {
    for (const std::uint32_t who : {0u, 2u, 4u}) {
      CAPTURE(static_cast<int>(refused));
      CAPTURE(who);
      full_array a;
      bool met = false;
      a.swallow = [&](const daemon::ssd_order& o) {
        if (o.ssd != who || o.opcode != admin_opcode::volume_chmod || o.chmod.spread != refused)
          return false;
        met = true;
        a.boss.answered(o.id, wire::afa::make_status(wire::afa::status::bad_payload));
        return true;
      };
      a.narrow();
      a.settle();
      if (!met) continue;
      CHECK(a.replies.back().said == verdict::failed);
      if (refused != volume_spread::gathering) CHECK(a.open(1, 21) == verdict::busy);
      CHECK(a.open(1, 22, false) == verdict::done);
      a.boss.close(++a.request, 1, 22, true);
      CHECK(a.last().said == verdict::done);
      a.swallow = nullptr;
      a.narrow();
      a.settle();
      if (a.replies.back().said != verdict::done) a.narrow();  // what was half-way came first
      a.settle();
      CHECK(a.replies.back().said == verdict::done);
      CHECK(a.is_narrow());
      CHECK(a.open(1, 21) == verdict::done);
    }
  }
}

TEST_CASE("an SSD that keeps a volume that has left it: nobody drops anything, it is asked again") {
  full_array a;
  a.swallow = [&](const daemon::ssd_order& o) {
    if (o.opcode != admin_opcode::volume_delete) return false;
    a.boss.answered(o.id, wire::afa::make_status(wire::afa::status::bad_payload));
    return true;
  };
  a.narrow();
  a.settle();
  CHECK(a.replies.back().said == verdict::failed);
  for (std::uint32_t k = 0; k < 4; ++k) CHECK(a.at(k).spread == volume_spread::moved);
  a.swallow = nullptr;
  a.take_over(50);
  a.settle();
  CHECK(a.is_narrow());
}

// ---- SSDs

TEST_CASE("an SSD is drained volume by volume, and new volumes keep away from it") {
  full_array a;
  for (std::uint16_t vid = 2; vid <= 4; ++vid) a.create(vid);
  REQUIRE(a.open(3, 21) == verdict::done);
  a.boss.set_aim(4, ssd_aim::drain);
  CHECK(a.boss.plans()[4].left == 4);
  CHECK(a.boss.width() == 4);
  a.settle();
  CHECK(a.copied == std::vector<std::uint16_t>{1, 2, 3, 4});  // though somebody writes the third
  CHECK(a.boss.plans()[4].waits_for == 0);
  for (std::uint32_t k = 0; k < 4; ++k)
    CHECK(a.rights(k, 3, 21) == (wire::afa::right_read | wire::afa::right_write));
  a.create(5);
  CHECK(a.states[4].volumes.empty());
  CHECK(a.boss.plans()[4].left == 0);
  CHECK(a.boss.aim_of(4) == ssd_aim::drain);
  // It is taken away, and nothing is degraded by that: new volumes do without it, also when the
  // next manager knows of no plan.
  a.fail(4);
  CHECK(!a.boss.torn_without(3));
  a.take_over(50);
  a.settle();
  CHECK(a.boss.width() == 4);
  a.create(6);
  CHECK(a.boss.record_of(6)->ssd_count == 4);
  // An SSD in its place gets its share.
  a.replace(4);
  a.settle();
  CHECK(a.states[4].volumes.empty());
  a.boss.set_aim(4, ssd_aim::join);
  a.settle();
  CHECK(a.states[4].volumes.size() == 6);
  CHECK(a.boss.plans()[4].left == 0);
  CHECK(a.boss.width() == 5);
}

TEST_CASE("the SSD before a drained one is drained after it") {
  full_array a;
  a.create(2, 3);
  a.boss.set_aim(4, ssd_aim::drain);
  a.boss.set_aim(3, ssd_aim::drain);
  a.settle();
  CHECK(a.states[4].volumes.empty());
  CHECK(a.states[3].volumes.empty());
  CHECK(a.boss.width() == 3);
  a.boss.set_aim(2, ssd_aim::drain);  // the volume with three replicas stays
  a.settle();
  CHECK(a.boss.plans()[2].left == 1);
  CHECK(a.knows(2, 2));
  CHECK(!a.knows(2, 1));
}

TEST_CASE("a drain that is called off: what is being copied stays where it was, and is dropped") {
  full_array a;
  a.create(2);
  a.boss.set_aim(4, ssd_aim::drain);
  a.obey();
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].kind == repair_kind::drain);
  a.boss.set_aim(4, ssd_aim::none);
  a.settle();
  CHECK(a.repairs.empty());
  CHECK(!a.is_narrow());
  CHECK(a.copied.empty());
  CHECK(a.boss.aim_of(4) == ssd_aim::none);
  CHECK(a.boss.plans()[4].volumes == 2);
  CHECK(a.boss.width() == 5);
  CHECK(a.open(1, 21) == verdict::done);
}

TEST_CASE("what cannot be moved is tried again after a second, and others go on meanwhile") {
  full_array a;
  a.create(2);
  a.boss.set_aim(4, ssd_aim::drain);
  a.obey();
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].vid == 1);
  (void)a.repaired(false);  // a block has no sound replica
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].vid == 2);
  (void)a.repaired();
  a.obey();
  CHECK(a.repairs.empty());
  CHECK(a.boss.plans()[4].left == 1);
  a.boss.tick(1'000'000'001);
  a.settle();
  CHECK(a.boss.plans()[4].left == 0);
}
