/// SSDs that serve at places which are not their own: exchanges, spares, and what is remembered of
/// one that is out.
#include "rig.hpp"

#include <utility>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// Five SSDs, of which the last one is a spare, and a volume that client 7 may write.
struct with_spare : obedient_array {
  with_spare() : obedient_array(5) {
    boss.set_aim(4, daemon::ssd_aim::spare);
    fail(4);
    create(9);
    REQUIRE(open(9, 7) == verdict::done);
    REQUIRE(boss.record_of(9)->ssd_count == 4);
  }
  void exchange(std::uint32_t place, std::uint32_t by = 4) {
    boss.ssd_stands_in(by, place);
    obey();
  }
  const daemon::membership& now() const { return boss.published(); }
};

/// SSDs, by bit, that the front end refuses by what it has heard.
std::uint64_t refused(const obedient_array& a) {
  std::uint64_t all = 0;
  for (const std::string& line : a.log) {
    const bool detached = line.starts_with("detach ");
    if (!detached && !line.starts_with("attach ")) continue;
    const std::uint64_t ssd = std::uint64_t{1} << (line.back() - '0');
    all = detached ? all | ssd : all & ~ssd;
  }
  return all;
}

bool is_filled(const obedient_array& a, std::uint32_t ssd) {
  return a.repairs.size() == 1 && a.repairs[0].kind == repair_kind::fill && a.repairs[0].ssd == ssd;
}

/// Of six SSDs two are spares, and one of these, 4, stands in for SSD 1, which has failed; volume 9
/// lies on the others.
void serve_by_a_spare(obedient_array& a) {
  a.boss.set_aim(4, daemon::ssd_aim::spare);
  a.boss.set_aim(5, daemon::ssd_aim::spare);
  a.fail(4);
  a.fail(5);
  a.create(9);
  a.fail(1);
  a.boss.ssd_stands_in(4, 1);
  a.obey();
  (void)a.repaired();
}

}  // namespace

TEST_CASE("an SSD serves until the one that is to follow it is in sync, and leaves then") {
  with_spare a;
  a.exchange(1);
  CHECK(a.now().absent == 0);
  CHECK(a.now().filling == 16);
  CHECK(a.now().others.place_of(4) == 1);
  CHECK(a.states[4].volumes.contains(9));
  CHECK(a.rights(4, 9, 7) == a.rights(1, 9, 7));  // who writes, writes there, too
  CHECK(a.states[0].serving.others == a.now().others);
  CHECK(is_filled(a, 4));
  CHECK(a.boss.successor_at(1) == 4);
  CHECK(a.boss.behind(*a.boss.record_of(9)) == 0);
  CHECK(a.open(9, 8, false) == verdict::done);  // rights go to both
  CHECK(a.rights(4, 9, 8) == a.rights(1, 9, 8));
  CHECK(a.rights(4, 9, 8) != 0);

  a.log.clear();
  (void)a.repaired();
  CHECK(a.now().absent == 2);
  CHECK(a.now().filling == 0);
  CHECK(a.now().others.place_of(4) == 1);
  REQUIRE(!a.log.empty());
  CHECK(a.log.front() == "detach 1");  // before anybody is in the epoch without it
  CHECK(a.boss.behind(*a.boss.record_of(9)) == 0);
  CHECK(a.open(9, 6, false) == verdict::done);
  CHECK(a.rights(1, 9, 6) == 0);
  CHECK(a.rights(4, 9, 6) != 0);
  CHECK(a.boss.plans()[1].volumes == 0);
  CHECK(a.boss.plans()[4].volumes == 1);
  CHECK(a.boss.width() == 4);
}

TEST_CASE("an exchange whose new SSD fails leaves everything as it was") {
  with_spare a;
  a.exchange(1);
  a.fail(4);
  CHECK(a.now().absent == 16);
  CHECK(!a.now().others.any());
  CHECK(a.repairs.empty());
  CHECK(a.boss.may_stand_in(4, 1) == manager::hindrance::none);
}

TEST_CASE("an exchange whose old SSD fails is a replacement from then on") {
  with_spare a;
  a.exchange(1);
  a.fail(1);
  CHECK(a.now().absent == 2);
  CHECK(a.now().filling == 16);
  CHECK(a.now().others.place_of(4) == 1);
  CHECK(a.boss.behind(*a.boss.record_of(9)) == 2);
  CHECK(is_filled(a, 4));
  (void)a.repaired();
  CHECK(a.boss.behind(*a.boss.record_of(9)) == 0);
}

TEST_CASE("another manager goes on with an exchange, wherever the one before ended") {
  for (std::size_t stop = 0; stop < 12; ++stop) {
    CAPTURE(stop);
    with_spare a;
    std::size_t orders = 0;
    a.swallow = [&](const daemon::ssd_order&) { return orders++ >= stop; };
    a.boss.ssd_stands_in(4, 1);
    a.obey();
    if (!a.repairs.empty()) {
      const auto id = a.repairs.back().id;
      a.repairs.clear();
      a.boss.finished(id, true);
      a.obey();
    }
    a.swallow = {};
    a.take_over(100);
    a.boss.set_aim(4, daemon::ssd_aim::spare);
    a.obey();
    CHECK(a.boss.idle());
    CHECK(a.boss.behind(*a.boss.record_of(9)) == 0);
    CHECK(a.now().sound_places() % 16 == 15);
    CHECK(refused(a) == a.now().absent);
    if (!a.repairs.empty()) (void)a.repaired();
    CHECK(a.now().filling == 0);
    CHECK(a.now().sound_places() % 16 == 15);
    const bool exchanged = a.now().others.any();
    CHECK(a.now().absent == (exchanged ? 2 : 16));
    for (std::uint32_t k = 0; k < 5; ++k) {
      if ((a.now().absent >> k & 1) != 0) continue;
      CHECK(a.states[k].serving.epoch == a.now().epoch);
      CHECK(a.states[k].serving.others == a.now().others);
      CHECK(a.states[k].volumes.contains(9));
    }
  }
}

TEST_CASE("an SSD serves on where a manager ended that had it refused, and informed nobody") {
  with_spare a;
  a.exchange(1);
  a.swallow = [](const daemon::ssd_order&) { return true; };
  (void)a.repaired();
  REQUIRE(refused(a) == 2);
  a.swallow = {};
  SUBCASE("all SSDs say so") {
    a.take_over(100);
    a.obey();
    CHECK(a.now().absent == 0);
    CHECK(a.now().filling == 16);
    CHECK(refused(a) == 0);
  }
  SUBCASE("one that does not answer may know better") {
    a.states[3].dead = true;
    a.take_over(100);
    a.obey();
    CHECK((refused(a) & 2) != 0);
  }
}

TEST_CASE("the SSD of a place comes back to it, and who stood in is free") {
  with_spare a;
  a.exchange(1);
  (void)a.repaired();
  a.replace(1);
  CHECK(a.now().filling == 2);
  CHECK(a.now().absent == 0);
  CHECK(a.boss.behind(*a.boss.record_of(9)) == 0);
  (void)a.repaired();
  CHECK(a.now().absent == 16);
  CHECK(!a.now().others.any());
  a.exchange(2);  // and serves elsewhere, with nothing of what it had
  CHECK(a.now().others.place_of(4) == 2);
}

TEST_CASE("a place is served by another spare where the one that stood in has failed") {
  obedient_array a(6);
  serve_by_a_spare(a);
  a.fail(4);
  CHECK(a.boss.published().others.place_of(4) == 1);  // it has what counts, if it comes back
  a.boss.ssd_stands_in(5, 1);
  a.obey();
  CHECK(a.boss.published().others.place_of(4) == 4);
  (void)a.repaired();
  CHECK(a.boss.behind(*a.boss.record_of(9)) == 0);
}

TEST_CASE("what cannot stand in is refused for its own reason") {
  using hindrance = manager::hindrance;
  with_spare a;
  CHECK(a.boss.may_stand_in(3, 1) == hindrance::absent_self);
  CHECK(a.boss.may_stand_in(4, 4) == hindrance::used);
  a.fail(3);
  CHECK(a.boss.may_stand_in(3, 1) == hindrance::used);
  a.exchange(1);
  CHECK(a.boss.successor_at(1) == 4);
  a.exchange(1, 3);
  CHECK(a.unfit == std::vector<std::uint32_t>{3});
  CHECK(a.now().others.place_of(3) == 3);
  obedient_array b(10);
  b.boss.set_aim(9, daemon::ssd_aim::spare);
  b.fail(9);
  b.create(2, 8);
  CHECK(b.boss.may_stand_in(9, 1) == hindrance::many_copies);
  b.fail(1);
  CHECK(b.boss.may_stand_in(9, 1) == hindrance::none);
}

TEST_CASE("no block lies on more SSDs than a list of replicas names") {
  using hindrance = manager::hindrance;
  obedient_array a(12);
  for (const std::uint32_t k : {9, 10, 11}) {
    a.boss.set_aim(k, daemon::ssd_aim::spare);
    a.fail(k);
  }
  a.create(2, 8);
  a.fail(1);
  a.boss.ssd_stands_in(9, 1);
  a.obey();
  (void)a.repaired();
  CHECK_FALSE(a.boss.has_room_at(3));
  a.replace(1);  // beside SSD 9 there would be nine
  CHECK(a.unfit == std::vector<std::uint32_t>{1});
  CHECK((a.boss.published().absent & 2) != 0);
  a.create(3, 8);  // while one SSD serves at each place

  obedient_array b(12);
  for (const std::uint32_t k : {9, 10, 11}) {
    b.boss.set_aim(k, daemon::ssd_aim::spare);
    b.fail(k);
  }
  b.create(2, 7);
  CHECK(b.boss.may_stand_in(9, 1) == hindrance::none);
  b.boss.ssd_stands_in(9, 1);
  b.obey();
  CHECK(b.boss.may_stand_in(10, 2) == hindrance::many_copies);  // seven, and two
  b.boss.create(++b.request, described(3, 8));
  CHECK(b.last().said == verdict::busy);
}

TEST_CASE("no volume is spread over an SSD that serves at another place") {
  obedient_array a(6);
  wire::afa::volume_record r = described(1);
  r.ssd_count = 4;
  a.boss.create(++a.request, r);
  a.obey();
  REQUIRE(a.last().said == verdict::done);
  a.fail(4);
  a.boss.ssd_stands_in(4, 1);
  a.obey();
  (void)a.repaired();
  CHECK(a.boss.width() == 4);
  r = described(2);
  r.ssd_count = 5;
  a.boss.create(++a.request, r);
  a.obey();
  CHECK(a.last().said == verdict::refused);
}

TEST_CASE("what is made anew on an SSD was changed in that epoch") {
  with_spare a;
  a.boss.close(++a.request, 9, 7, true);
  a.fail(3);  // another epoch than that in which the volume was made
  const std::uint32_t before = a.now().epoch;
  a.exchange(1);
  CHECK(a.states[4].volumes.at(9).epoch >= before);  // nobody was given a right since

  // So is what another manager had made anew on one that is out for planned work.
  obedient_array b(4);
  b.create(1);
  const std::uint64_t factor = b.boss.record_of(1)->hash_factor;
  b.boss.ssd_leaves(2, 1'000'000);
  b.obey();
  REQUIRE(b.boss.absences().of(2) != nullptr);
  REQUIRE(b.boss.absences().of(2)->volumes.contains(1));
  wire::afa::volume_record has = *b.boss.record_of(1);
  CHECK(has.hash_factor == factor);
  for (const bool anew : {true, false}) {
    CAPTURE(anew);
    obedient_array c = b;
    has.epoch = anew ? c.boss.absences().of(2)->epoch + 1 : c.boss.absences().of(2)->epoch;
    c.boss.ssd_replaced(2, {1}, daemon::ssd_report{c.boss.published(), {has}});
    c.obey();
    REQUIRE(c.repairs.size() == 1);
    CHECK(c.repairs[0].left_out.size() == (anew ? 0 : 1));
  }
}

TEST_CASE("an SSD that comes back loses what it had before it is given what it lacks") {
  obedient_array a(4);
  wire::afa::volume_record db = described(3);
  db.name = wire::afa::volume_name("db");
  a.boss.create(++a.request, db);
  REQUIRE(a.last().said == verdict::done);
  a.fail(1);
  wire::afa::volume_chmod change{};
  change.sets = wire::afa::volume_chmod::sets_name;
  change.name = wire::afa::volume_name("old");
  a.boss.rename(++a.request, 3, change);
  REQUIRE(a.last().said == verdict::done);
  db.vid = 7;
  a.boss.create(++a.request, db);
  REQUIRE(a.last().said == verdict::done);
  REQUIRE(a.states[1].volumes.at(3).name == db.name);  // that volume 7 has now
  a.boss.ssd_replaced(1, {3});
  a.obey();
  CHECK(a.unfit.empty());
  CHECK(a.states[1].volumes.at(7).name == db.name);
  CHECK(a.states[1].volumes.at(3).name == change.name);
}

TEST_CASE("no volume moves while an SSD is exchanged") {
  with_spare a;
  a.boss.close(++a.request, 9, 7, true);
  a.exchange(1);
  a.boss.narrow(++a.request, 9, 3);
  CHECK(a.last().said == verdict::busy);
  a.boss.spread(++a.request, 9);
  CHECK(a.last().said == verdict::busy);
  (void)a.repaired();
  a.boss.narrow(++a.request, 9, 3);
  a.obey();
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].kind == repair_kind::drain);
}

TEST_CASE("the next manager believes what an SSD has that is out, but for what was changed since") {
  obedient_array a(4);
  a.create(1);
  a.create(2);
  a.create(3);
  const std::uint64_t factor = a.boss.record_of(1)->hash_factor;
  const daemon::ssd_absences::absence left{.epoch = a.boss.published().epoch,
                                           .until = 1'000'000,
                                           .volumes = {{1, factor}, {2, factor}, {3, factor + 1}}};
  a.boss.ssd_leaves(2, 1'000'000);
  a.obey();
  REQUIRE(a.open(2, 7) == verdict::done);
  a.boss.close(++a.request, 2, 7, true);  // nothing else tells that it was written
  a.obey();
  a.take_over(100);
  a.boss.restore_absence(2, left);
  a.obey();
  const auto* const out = a.boss.absences().of(2);
  REQUIRE(out != nullptr);
  CHECK(out->volumes.size() == 1);
  CHECK(out->volumes.contains(1));
  a.boss.restore_absence(1, left);  // that one takes part
  CHECK(a.boss.absences().of(1) == nullptr);
}

TEST_CASE("what an SSD had at one place does not count at another") {
  obedient_array a(6);
  serve_by_a_spare(a);
  a.boss.ssd_leaves(4, 1'000'000);  // out for planned work, as the SSD of place 1
  a.obey();
  REQUIRE(a.boss.absences().of(4) != nullptr);
  REQUIRE(a.boss.absences().of(4)->volumes.contains(9));
  daemon::ssd_report says{a.states[4].serving, {a.states[4].volumes.at(9)}};
  a.boss.ssd_stands_in(4, 2, {9}, says);
  a.obey();
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].left_out.empty());
}

TEST_CASE("an SSD that is not needed any more when it comes back stays a spare") {
  with_spare a;
  a.exchange(1);
  (void)a.repaired();
  a.replace(1);  // both serve at place 1
  a.boss.ssd_failed(4);
  a.obey();
  REQUIRE(!a.now().others.any());
  a.boss.ssd_replaced(4, {9});  // somebody brought it back for that place
  a.obey();
  CHECK(a.unfit == std::vector<std::uint32_t>{4});
  CHECK((a.now().absent & 16) != 0);
}

TEST_CASE("an SSD that comes back to another place than it began with keeps no volume of that") {
  with_spare a;
  a.fail(1);
  a.exchange(1);
  (void)a.repaired();
  a.fail(4);
  a.boss.set_aim(4, daemon::ssd_aim::none);
  a.replace(1);  // serves at place 1 again, where SSD 4 does, too, once it is back
  REQUIRE(a.now().others.place_of(4) == 1);
  bool interrupted = false;
  a.before_order = [&](const daemon::ssd_order& o) {
    if (o.opcode != admin_opcode::volume_add || o.ssd != 4) return;
    if (!std::exchange(interrupted, true)) a.boss.ssd_failed(3);
  };
  a.boss.ssd_replaced(4);
  a.obey();
  REQUIRE(interrupted);
  CHECK(!a.now().others.any());
  CHECK(!a.states[4].volumes.contains(9));
}

TEST_CASE("an epoch that a dead SSD alone has heard of is not begun again with others in it") {
  obedient_array a(4);
  a.create(1);
  std::size_t informed = 0;
  a.swallow = [&](const daemon::ssd_order& o) {
    return o.opcode == admin_opcode::array_update && informed++ != 0;
  };
  a.fail(2);  // SSD 0 alone hears so
  a.swallow = {};
  const daemon::membership heard = a.states[0].serving;
  REQUIRE(heard.absent == 4);
  REQUIRE(a.states[1].serving.epoch < heard.epoch);
  a.states[0].dead = true;
  a.take_over(100);
  a.obey();
  CHECK(a.boss.published().absent == 1);
  CHECK(a.boss.published().epoch > heard.epoch);
  a.states[0].dead = false;
  a.take_over(200);  // and what it says is older, therefore
  a.obey();
  CHECK(a.boss.published().absent == 1);
}
