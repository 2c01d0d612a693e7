/// What the manager does about SSDs that fail, at any time, and about those that replace them.

#include "rig.hpp"

#include <utility>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("an SSD that does not do as a replacement is named, and its place stays empty") {
  obedient_array a(3);
  a.create(1);
  a.fail(1);
  a.states[1] = {};
  a.states[1].full = true;
  a.boss.ssd_replaced(1);
  a.obey();
  CHECK(a.unfit == std::vector<std::uint32_t>{1});
  a.states[1].full = false;
  a.states[1].dead = true;
  a.boss.ssd_replaced(1);
  a.obey();
  CHECK(a.unfit == std::vector<std::uint32_t>{1, 1});
  CHECK(a.boss.published().absent == 2);
  CHECK(a.repairs.empty());
  a.replace(1);
  CHECK(a.unfit.size() == 2);
  CHECK(a.boss.published().filling == 2);
}

TEST_CASE("while an SSD is filled and another fails, no volume is left out of the fill") {
  obedient_array a(3);
  a.create(1);
  a.fail(0);
  a.replace(0);
  REQUIRE(a.repairs.size() == 1);
  a.fail(1);
  CHECK(a.open(1, 10) == verdict::torn_volume);
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.offered == 1);
  a.take_over(5000);
  a.obey();
  CHECK(a.open(1, 10) == verdict::torn_volume);
  CHECK(a.offered == 1);
  CHECK(a.repaired().kind == repair_kind::fill);
  a.boss.open(60, 1, 10, true);
  a.obey();
  CHECK(a.repaired().kind == repair_kind::converge);
  CHECK(a.replies.back().said == verdict::done);
}

TEST_CASE("an SSD that serves is not replaced, whatever fails at the same time") {
  obedient_array a(3);
  a.create(1);
  a.log.clear();
  a.boss.ssd_replaced(2);  // late, or twice
  a.fail(0);
  CHECK(a.log == std::vector<std::string>{"detach 0", "update 1", "update 2"});
  CHECK(a.boss.published().filling == 0);
}

TEST_CASE("a replacement that fails once is named, at whatever order it was") {
  for (int orders = 0; orders < 5; ++orders) {
    CAPTURE(orders);
    obedient_array a(3);
    a.create(1);
    a.create(2);
    a.fail(1);
    a.states[1] = {};
    int seen = 0;
    bool failed = false;
    a.swallow = [&](const daemon::ssd_order& o) {
      if (o.ssd != 1 || failed || seen++ != orders) return false;
      failed = true;
      a.boss.ssd_failed(1);  // said once; the order is never answered
      return true;
    };
    a.boss.ssd_replaced(1);
    a.obey();
    CHECK(failed);
    CHECK(a.boss.idle());
    CHECK(a.unfit == std::vector<std::uint32_t>{1});
    CHECK(a.boss.published().absent == 2);
  }
}

TEST_CASE("no volume is created where some of its blocks would be on nobody") {
  obedient_array a(3);
  a.fail(0);
  a.boss.create(60, described(1, 1));
  CHECK(a.last().said == verdict::torn_volume);
  wire::afa::volume_record narrow = described(2, 1);
  narrow.ssd_count = 1;
  a.boss.create(61, narrow);
  CHECK(a.last().said == verdict::torn_volume);
  a.create(3, 2);
}

TEST_CASE("an SSD that fails when it was filled, and is back, is filled anew") {
  obedient_array a(3);
  a.create(1);
  a.fail(2);
  a.replace(2);
  REQUIRE(a.repairs.size() == 1);
  const std::uint64_t fill = a.repairs[0].id;
  a.repairs.clear();
  std::uint64_t held = 0;  // an answer that has to come before anything else goes on
  a.swallow = [&](const daemon::ssd_order& o) {
    if (held == 0 && o.opcode == admin_opcode::volume_chmod) held = o.id;
    return held == o.id;
  };
  a.boss.open(++a.request, 1, 10, false);
  a.obey();
  REQUIRE(held != 0);
  a.boss.ssd_replaced(2);
  a.boss.finished(fill, true);
  a.boss.ssd_failed(2);
  a.states[2] = {};
  a.swallow = nullptr;
  a.obey();
  CHECK(a.last().said == verdict::done);
  CHECK(a.boss.published().absent == 0);
  CHECK(a.boss.published().filling == 4);
  REQUIRE(a.repairs.size() == 1);
  (void)a.repaired();
  CHECK(a.boss.published().filling == 0);
}

TEST_CASE("a creation that an SSD refuses deletes what it has added, and nobody else's volume") {
  obedient_array a(3);
  wire::afa::volume_record foreign = described(1);
  foreign.capacity_blocks += 1;
  for (const bool distinct : {true, false}) {
    foreign.hash_factor = distinct ? 77 : described(1).hash_factor;
    a.states[1].volumes[1] = foreign;
    a.boss.create(++a.request, described(1));
    CHECK(a.last().said == verdict::refused);
    CHECK(a.states[0].volumes.empty());
    CHECK(a.states[1].volumes.size() == 1);
    CHECK(a.states[2].volumes.empty());
  }
}

TEST_CASE("a right that an SSD refuses to take is fenced by whoever is next") {
  enum class by { close, expel, client_gone };
  for (const by way : {by::close, by::expel, by::client_gone}) {
    CAPTURE(static_cast<int>(way));
    obedient_array a(3);
    a.create(1);
    REQUIRE(a.open(1, 10) == verdict::done);
    bool refuses = true;
    a.before_order = [&](const daemon::ssd_order& o) {
      if (o.ssd == 1) a.states[1].serving.epoch = refuses ? 9 : 1;  // it thinks to be elsewhere
    };
    if (way == by::close) a.boss.close(60, 1, 10, true);
    if (way == by::expel) a.boss.expel(60, 1, 10);
    if (way == by::client_gone) a.boss.client_gone(10);
    a.obey();
    if (way != by::client_gone) CHECK(a.last().said == verdict::refused);
    CHECK((a.rights(1, 1, 10) & wire::afa::right_write) != 0);
    CHECK(a.open(1, 11) == verdict::refused);  // that SSD would let two write
    for (const std::uint32_t k : {0u, 2u})
      CHECK((a.rights(k, 1, 11) & wire::afa::right_write) == 0);
    refuses = false;
    a.boss.open(61, 1, 11, true);
    a.obey();
    CHECK((a.rights(1, 1, 10) & wire::afa::right_write) == 0);  // before replicas are made equal
    CHECK(a.repaired().kind == repair_kind::converge);
    CHECK(a.last().said == verdict::done);
    for (const std::uint32_t k : {0u, 1u, 2u}) {
      CHECK((a.rights(k, 1, 10) & wire::afa::right_write) == 0);
      CHECK((a.rights(k, 1, 11) & wire::afa::right_write) != 0);
    }
  }
}

TEST_CASE("who gives a lease back, or is gone, does not extend it") {
  obedient_array a(2);
  a.create(1);
  for (const bool gone : {false, true}) {
    REQUIRE(a.open(1, 10) == verdict::done);
    if (gone) {
      a.boss.client_gone(10);
    } else {
      a.boss.close(60, 1, 10, true);
    }
    a.boss.renew(61, 1, 10);
    a.obey();
    const auto answer = std::find_if(a.replies.rbegin(), a.replies.rend(),
                                     [](const daemon::reply& r) { return r.request == 61; });
    REQUIRE(answer != a.replies.rend());
    CHECK(answer->said == verdict::lost_lease);
    a.replies.clear();
  }
}

TEST_CASE("a write right that too many failures kept unfinished passes on all the same") {
  for (const bool reads : {false, true}) {
    CAPTURE(reads);
    obedient_array a(4);
    a.create(1);
    a.before_order = [&](const daemon::ssd_order& o) {  // all but SSD 0 before they hear of it
      if (o.opcode == admin_opcode::volume_chmod && o.chmod.client_count != 0 && o.ssd != 0)
        a.states[o.ssd].dead = true;
    };
    CHECK(a.open(1, 10) == verdict::torn_volume);
    CHECK(a.rights(0, 1, 10) == 3);
    a.before_order = nullptr;
    a.boss.renew(70, 1, 10);
    CHECK(a.last().said == verdict::lost_lease);
    for (const std::uint32_t k : {1u, 2u, 3u}) {
      a.replace(k);
      while (!a.repairs.empty()) a.repaired();
    }
    if (reads) {
      CHECK(a.open(1, 10, false) == verdict::done);
      for (std::uint32_t k = 0; k < 4; ++k) CHECK(a.rights(k, 1, 10) == 1);
    }
    a.boss.open(71, 1, 11, true);
    a.obey();
    CHECK(a.repaired().kind == repair_kind::converge);
    CHECK(a.replies.back().said == verdict::done);
    for (std::uint32_t k = 0; k < 4; ++k) {
      CHECK(a.rights(k, 1, 10) == 1);
      CHECK(a.rights(k, 1, 11) == 3);
    }
  }
}

TEST_CASE("an epoch is published when every SSD in it knows it") {
  obedient_array a(3);
  a.boss.ssd_failed(0);
  const daemon::orders out = a.boss.take_orders();
  REQUIRE(out.ssds.size() == 2);
  a.boss.answered(out.ssds[0].id, 0);
  (void)a.boss.take_orders();
  CHECK(a.boss.published().epoch == 1);
  a.boss.answered(out.ssds[1].id, 0);
  a.boss.answered(out.ssds[1].id, 0);  // twice
  (void)a.boss.take_orders();
  CHECK(a.boss.published().epoch == 2);
}

TEST_CASE("SSDs that fail together, or in the middle of something, keep nothing waiting") {
  obedient_array a(4);
  a.create(1);
  a.states[2].dead = a.states[3].dead = true;
  CHECK(a.open(1, 10) == verdict::torn_volume);
  CHECK(a.boss.published().absent == 12);
  CHECK(a.boss.idle());
  obedient_array b(4);
  b.create(1, 3);
  b.states[2].dead = b.states[3].dead = true;
  CHECK(b.open(1, 10) == verdict::done);
  CHECK(b.boss.published().absent == 12);
  CHECK(b.rights(0, 1, 10) == 3);
  b.states[2] = {};
  b.boss.ssd_replaced(2);
  b.states[2].dead = true;  // so soon
  b.obey();
  CHECK(b.boss.idle());
  CHECK(b.boss.published().absent == 12);
  b.states[2].dead = false;
  b.boss.ssd_replaced(2);
  b.obey();
  CHECK(b.boss.published().absent == 8);
}

TEST_CASE("answers to what was asked before a failure count for nothing") {
  obedient_array a(3);
  a.create(1, 3);
  REQUIRE(a.open(1, 10) == verdict::done);
  a.boss.tick(2000);
  a.boss.open(60, 1, 11, true);
  const daemon::orders fence = a.boss.take_orders();
  REQUIRE(fence.ssds.size() == 3);
  a.boss.renew(61, 1, 10);  // too late: the fence is on its way
  a.boss.ssd_failed(2);
  const daemon::orders update = a.boss.take_orders();
  CHECK(update.replies.back().said == verdict::lost_lease);
  REQUIRE(update.ssds.size() == 2);
  for (std::uint32_t k = 0; k < 2; ++k) a.boss.answered(fence.ssds[k].id, 0);
  CHECK(a.boss.take_orders().ssds.empty());
  CHECK(a.boss.published().epoch == 1);
  for (const auto& o : update.ssds) a.obey(o);
  a.obey();
  CHECK(a.boss.published().epoch == 2);
  CHECK(a.rights(0, 1, 10) == 1);  // asked again, of all that are left
  CHECK(a.rights(1, 1, 10) == 1);
  REQUIRE(a.repairs.size() == 1);
  const std::uint64_t before = a.repairs[0].id;
  a.boss.ssd_failed(0);  // in the middle of the convergence
  a.obey();
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].id != before);
  a.boss.finished(before, true);  // it says nothing of the present epoch
  a.obey();
  CHECK(a.rights(1, 1, 11) == 0);
  a.repaired();
  CHECK(a.rights(1, 1, 11) == 3);
}

TEST_CASE("an SSD may die at any order of any operation") {
  for (std::uint32_t victim = 0; victim < 4; ++victim) {
    for (int lives = 0; lives < 24; ++lives) {
      CAPTURE(victim);
      CAPTURE(lives);
      obedient_array a(4);
      a.create(1, 3);
      a.fail(1);
      int left = lives;
      a.before_order = [&](const daemon::ssd_order& o) {
        if (o.ssd == victim && left-- == 0) a.states[victim].dead = true;
      };
      a.states[1] = {};
      a.boss.ssd_replaced(1);
      a.boss.create(50, described(2, 3));
      a.boss.open(51, 1, 10, true);
      a.boss.open(52, 2, 11, false);
      a.boss.scrub(1);
      a.boss.close(53, 1, 10, false);
      a.boss.open(54, 1, 12, true);
      for (int k = 0; k < 8; ++k) {
        a.obey();
        if (a.repairs.empty()) break;
        const daemon::repair_order r = a.repairs.back();
        a.repairs.pop_back();
        if (r.kind == repair_kind::fill) CHECK((a.boss.published().filling >> r.ssd & 1) == 1);
        a.boss.finished(r.id, true);
      }
      a.boss.remove(55, 2);
      a.obey();
      CHECK(a.boss.idle());
      CHECK(a.repairs.empty());
      std::map<std::uint64_t, int> answers;
      for (const daemon::reply& r : a.replies) answers[r.request] += 1;
      for (std::uint64_t r = 50; r <= 55; ++r) CHECK(answers[r] == 1);
      const daemon::membership& m = a.boss.published();
      CHECK((m.absent & ~(2u | 1u << victim)) == 0);
      if (a.states[victim].dead) CHECK((m.absent & 1u << victim) != 0);
      if (victim != 1 && !a.states[victim].dead) CHECK(m.absent == 0);
      CHECK(m.filling == 0);
      for (std::uint32_t k = 0; k < 4; ++k) {
        if ((m.absent >> k & 1) != 0) continue;
        CHECK(a.states[k].serving.epoch == m.epoch);
        CHECK(a.states[k].serving.absent == m.absent);
        CHECK(a.states[k].volumes.size() == 1);
        CHECK(a.rights(k, 1, 10) == 0);
        CHECK(a.rights(k, 1, 12) == 3);
      }
    }
  }
}

TEST_CASE("a new SSD hears the volumes in the epoch that they are in, whoever fails meanwhile") {
  obedient_array a(4);
  for (const std::uint16_t vid : {1, 2, 3}) a.create(vid, 3);
  a.fail(1);
  int adds = 0;
  a.before_order = [&](const daemon::ssd_order& o) {
    if (o.opcode == admin_opcode::volume_add && ++adds == 2) a.boss.ssd_failed(3);
  };
  a.replace(1);
  CHECK(a.boss.published().absent == 8);
  CHECK(a.boss.published().filling == 2);
  CHECK(a.states[1].volumes.size() == 3);
  CHECK(a.repairs.size() == 1);
}

TEST_CASE("an SSD that fails while it is filled, or when it has just been, does not serve") {
  for (const bool finished : {false, true}) {
    CAPTURE(finished);
    obedient_array a(3);
    a.create(1);
    a.fail(1);
    a.replace(1);
    REQUIRE(a.repairs.size() == 1);
    if (finished) a.boss.finished(std::exchange(a.repairs, {})[0].id, true);
    a.fail(1);
    CHECK(a.repairs.empty());
    CHECK(a.boss.idle());
    CHECK(a.boss.published().epoch == 4);
    CHECK(a.boss.published().absent == 2);
    CHECK(a.boss.published().filling == 0);
  }
}

TEST_CASE("an SSD that has just been filled serves, though another fails at the same time") {
  obedient_array a(4);
  a.create(1, 3);
  a.fail(1);
  a.replace(1);
  a.boss.finished(std::exchange(a.repairs, {})[0].id, true);
  a.fail(0);
  CHECK(a.repairs.empty());  // it has what it needs
  CHECK(a.boss.published().absent == 1);
  CHECK(a.boss.published().filling == 0);
}

TEST_CASE("a repair that is taken back before anybody has it is not begun") {
  obedient_array a(4);
  a.create(1, 3);
  a.fail(1);
  a.replace(1);
  a.boss.finished(std::exchange(a.repairs, {})[0].id, false);  // it is ordered again
  a.boss.scrub(1);
  a.fail(1);
  CHECK(a.repairs.empty());
}

TEST_CASE("a volume that is removed while repairs run leaves nothing to carry into the next") {
  obedient_array a(3);
  a.create(1);
  a.create(2);
  a.fail(0);
  a.replace(0);
  REQUIRE(a.repairs.size() == 1);
  const std::uint64_t before = a.repairs[0].id;
  const std::uint32_t epoch = a.boss.published().epoch;
  a.boss.remove(99, 1);
  CHECK(a.last().said == verdict::done);
  CHECK(a.boss.published().epoch == epoch + 1);
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].id != before);
  CHECK(a.offered == 1);
  CHECK(a.boss.volumes().size() == 1);
  CHECK_FALSE(a.states[2].volumes.contains(1));
}

TEST_CASE("a scrub of a volume that is removed ends in the epoch before") {
  obedient_array a(2);
  a.create(1);
  a.boss.scrub(1);
  a.boss.scrub(7);  // there is none
  a.obey();
  REQUIRE(a.repairs.size() == 1);
  a.boss.remove(60, 1);
  CHECK(a.last().said == verdict::done);
  CHECK(a.boss.published().epoch == 2);
  CHECK(a.repairs.empty());
}

TEST_CASE("what a scrub found is mended in the next epoch, which begins for that") {
  obedient_array a(3);
  a.create(1);
  a.boss.scrub(1);
  a.obey();
  const std::uint32_t epoch = a.boss.published().epoch;
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].kind == repair_kind::scrub);
  a.boss.finished(std::exchange(a.repairs, {})[0].id, true, {4, 7});
  a.obey();
  CHECK(a.boss.published().epoch == epoch + 1);
  CHECK(a.boss.published().absent == 0);
  for (const auto& s : a.states) CHECK(s.serving.epoch == epoch + 1);
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].kind == repair_kind::mend);
  CHECK(a.repairs[0].vid == 1);
  CHECK(a.repairs[0].blocks == std::vector<std::uint32_t>{4, 7});

  SUBCASE("a failure begins it again") {
    const std::uint64_t before = a.repairs[0].id;
    a.fail(0);
    REQUIRE(a.repairs.size() == 1);
    CHECK(a.repairs[0].id != before);
    CHECK(a.repairs[0].kind == repair_kind::mend);
    CHECK(a.repairs[0].blocks.size() == 2);
  }
  SUBCASE("it is ordered again until it succeeds") {
    const std::uint64_t before = std::exchange(a.repairs, {})[0].id;
    a.boss.finished(before, false);
    a.obey();
    REQUIRE(a.repairs.size() == 1);
    CHECK(a.repairs[0].id != before);
    a.boss.finished(std::exchange(a.repairs, {})[0].id, true);
    a.obey();
    CHECK(a.repairs.empty());
    CHECK(a.boss.published().epoch == epoch + 1);
  }
  SUBCASE("and ends with its volume") {
    a.boss.remove(60, 1);
    CHECK(a.last().said == verdict::done);
    CHECK(a.repairs.empty());
  }
}

TEST_CASE("a scrub that finds nothing, or ends early, begins no epoch") {
  obedient_array a(2);
  a.create(1);
  for (const bool ok : {true, false}) {
    a.boss.scrub(1);
    a.obey();
    const std::vector<std::uint32_t> found(ok ? 0 : 1);
    a.boss.finished(std::exchange(a.repairs, {})[0].id, ok, found);
    a.obey();
    CHECK(a.boss.published().epoch == 1);
    CHECK(a.repairs.empty());
  }
}

TEST_CASE("an SSD that a volume is not spread over takes nothing of it along") {
  obedient_array a(4);
  wire::afa::volume_record narrow = described(1, 1);
  narrow.ssd_count = 3;
  a.boss.create(60, narrow);
  CHECK(a.last().said == verdict::done);
  a.create(2, 1);
  CHECK(a.states[0].volumes[2].ssd_count == 4);  // the manager says so, not each SSD
  CHECK_FALSE(a.states[3].volumes.contains(1));
  a.fail(3);
  CHECK(a.open(1, 10) == verdict::done);
  CHECK(a.open(2, 10) == verdict::torn_volume);
  a.take_over(5000);
  a.obey();
  CHECK(a.open(2, 10) == verdict::torn_volume);
  a.boss.open(61, 1, 10, true);
  a.obey();
  CHECK(a.repaired().kind == repair_kind::converge);
  CHECK(a.replies.back().said == verdict::done);
  a.replace(3);
  CHECK_FALSE(a.states[3].volumes.contains(1));
  a.repaired();
  a.take_over(6000);
  a.obey();
  CHECK(a.boss.volumes().size() == 2);  // each is everywhere where it should be
  a.boss.remove(62, 1);
  CHECK(a.last().said == verdict::done);
}

TEST_CASE("an SSD that comes back with what it had forgets each volume before it has it anew") {
  obedient_array a(3);
  for (std::uint16_t vid = 1; vid <= 3; ++vid) {
    wire::afa::volume_record r = described(vid);
    r.hash_factor = 100 + vid;
    a.boss.create(++a.request, r);
    REQUIRE(a.last().said == verdict::done);
  }
  a.fail(1);
  std::vector<std::uint16_t> forgotten;
  a.before_order = [&](const daemon::ssd_order& o) {
    const auto known = a.states[1].volumes.find(o.vid);
    if (o.ssd != 1 || known == a.states[1].volumes.end()) return;
    CHECK(o.opcode != admin_opcode::volume_add);  // what it holds may be older than the others'
    if (o.opcode != admin_opcode::volume_delete) return;
    const std::uint64_t hash = o.record.hash_factor;
    CHECK((hash == 0 || hash == known->second.hash_factor));
    forgotten.push_back(o.vid);
  };
  a.boss.ssd_replaced(1, {1, 2, 3});
  a.obey();
  std::sort(forgotten.begin(), forgotten.end());
  CHECK(forgotten == std::vector<std::uint16_t>{1, 2, 3});
  CHECK(a.states[1].volumes.size() == 3);
}
