/// SSDs that are taken out for planned work, and what of their data counts when they are back.

#include "rig.hpp"

#include <utility>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// Three SSDs; volumes 1 to 3, of which client 10 writes volume 2.
struct quiet_array : obedient_array {
  quiet_array() : obedient_array(3) {
    for (std::uint16_t vid = 1; vid <= 3; ++vid) {
      wire::afa::volume_record r = described(vid);
      r.hash_factor = 100 + vid;
      boss.create(++request, r);
      obey();
      REQUIRE(last().said == verdict::done);
    }
    REQUIRE(open(2, 10) == verdict::done);
    boss.tick(100);
  }
  void take_out(std::uint32_t place, std::uint64_t until = 10'000) {
    boss.ssd_leaves(place, until);
    obey();
    REQUIRE((boss.published().absent >> place & 1) == 1);
    log.clear();
  }
  daemon::ssd_report report(std::uint32_t place) const {
    daemon::ssd_report r{.serving = states[place].serving};
    for (const auto& [vid, v] : states[place].volumes) r.volumes.push_back(v);
    return r;
  }
  /// An SSD is there again and says so of itself. Which volumes its fill leaves out.
  std::vector<std::uint16_t> comes_back(std::uint32_t place, const daemon::ssd_report& says) {
    std::vector<std::uint16_t> has;
    for (const auto& v : says.volumes) has.push_back(v.vid);
    boss.ssd_replaced(place, has, says);
    obey();
    REQUIRE(repairs.size() == 1);
    REQUIRE(repairs[0].kind == repair_kind::fill);
    auto left_out = repairs[0].left_out;
    std::sort(left_out.begin(), left_out.end());
    return left_out;
  }
  std::vector<std::uint16_t> comes_back(std::uint32_t place) {
    return comes_back(place, report(place));
  }
  bool deleted(std::uint32_t place) const {
    return std::count(log.begin(), log.end(), "delete " + std::to_string(place)) != 0;
  }
};

using vids = std::vector<std::uint16_t>;

}  // namespace

TEST_CASE("an SSD that was out for planned work keeps what nobody was let write") {
  quiet_array a;
  a.take_out(1);
  a.boss.admit(++a.request, 3, 12);
  a.obey();
  CHECK(a.comes_back(1) == vids{1, 3});
  CHECK(std::count(a.log.begin(), a.log.end(), "delete 1") == 1);  // volume 2, which has a writer
  // It knows by now what it has missed.
  for (const std::uint16_t vid : {1, 2, 3}) {
    CAPTURE(vid);
    auto known = a.states[1].volumes[vid];
    known.epoch = a.states[0].volumes[vid].epoch;
    CHECK(std::memcmp(&known, &a.states[0].volumes[vid], sizeof known) == 0);
  }
  CHECK(a.repaired().kind == repair_kind::fill);
  CHECK(a.boss.published().filling == 0);
}

TEST_CASE(
    "a fill that begins anew in another epoch leaves out the same, one of a new SSD nothing") {
  quiet_array a;
  a.take_out(1);
  REQUIRE(a.comes_back(1) == vids{1, 3});
  a.boss.remove(++a.request, 2);  // another epoch, as a repair goes on
  a.obey();
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].left_out.size() == 2);
  a.fail(1);
  a.replace(1);
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].left_out.empty());
}

TEST_CASE("what somebody could write meanwhile, or is another volume by now, is filled") {
  quiet_array a;
  a.take_out(1);
  REQUIRE(a.open(1, 11) == verdict::done);
  a.boss.close(++a.request, 1, 11, true);
  a.boss.remove(++a.request, 3);
  a.obey();
  wire::afa::volume_record other = described(3);
  other.hash_factor = 7;
  a.boss.create(++a.request, other);
  a.obey();
  CHECK(a.comes_back(1).empty());
  CHECK(a.deleted(1));
}

TEST_CASE("what may differ is made equal first, unless somebody may write it") {
  quiet_array a;
  a.boss.close(++a.request, 2, 10, false);
  a.obey();
  CHECK(a.boss.unequal() == vids{2});
  a.boss.make_equal(++a.request, 2);
  a.obey();
  CHECK(a.repaired().kind == repair_kind::converge);
  CHECK(a.last().said == verdict::done);
  CHECK_FALSE(a.boss.lease_of(2).has_value());
  a.take_out(1);
  CHECK(a.comes_back(1) == vids{1, 2, 3});

  quiet_array b;
  b.boss.make_equal(++b.request, 2);
  b.obey();
  CHECK(b.last().said == verdict::busy);
  CHECK(b.boss.lease_of(2)->client == 10);

  quiet_array c;
  c.boss.close(++c.request, 2, 10, false);
  c.obey();
  c.take_out(1);
  CHECK(c.comes_back(1) == vids{1, 3});
}

TEST_CASE("nothing counts of an SSD that failed, came too late, or was there long ago") {
  quiet_array failed;
  failed.fail(1);
  CHECK(failed.comes_back(1).empty());

  quiet_array late;
  late.take_out(1, 500);
  late.boss.tick(500);
  CHECK(late.boss.absences().of(1) == nullptr);
  CHECK(late.comes_back(1).empty());

  quiet_array former;
  const daemon::ssd_report old = former.report(1);
  former.fail(0);  // another epoch, which that one has never seen
  former.replace(0);
  (void)former.repaired();
  former.repairs.clear();
  former.take_out(1);
  former.states[1] = {old.serving, former.states[1].volumes};
  CHECK(former.comes_back(1, old).empty());

  quiet_array filling;
  filling.fail(1);
  filling.replace(1);
  filling.take_out(1);  // before it has been filled
  CHECK(filling.boss.absences().of(1) == nullptr);
  CHECK(filling.comes_back(1).empty());

  quiet_array next;
  next.take_out(1);
  next.take_over(2000);
  next.obey();
  CHECK(next.boss.absences().of(1) == nullptr);
}

TEST_CASE("an SSD that fails behind its return, or another one meanwhile, costs no data") {
  quiet_array a;
  a.take_out(1);
  a.boss.ssd_replaced(1, {1, 2, 3}, a.report(1));
  int orders = 0;
  a.before_order = [&](const daemon::ssd_order& o) {
    if (o.ssd != 1 || ++orders != 2) return;
    a.before_order = {};
    a.states[2].dead = true;
    a.boss.ssd_failed(2);
  };
  a.obey();
  CHECK(a.boss.published().absent == 4);
  CHECK(a.boss.published().filling == 2);
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].left_out.size() == 2);
}
