/// Volumes that are spread over an SSD that has joined: in order, with SSDs that fail and managers
/// that crash at any order.

#include "rig.hpp"

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::volume_spread;

namespace {

/// Five SSDs, and a volume over the first four of them, that client 20 may read.
struct grown_array : obedient_array {
  grown_array() : obedient_array(5) {
    wire::afa::volume_record r = described(1);
    r.ssd_count = 4;
    boss.create(++request, r);
    REQUIRE(last().said == verdict::done);
    REQUIRE(open(1, 20, false) == verdict::done);
    log.clear();
  }
  void spread() { boss.spread(++request, 1); }
  /// Carries out whatever there is to do, repairs included.
  void settle() {
    obey();
    for (int n = 0; n < 100 && !repairs.empty(); ++n) {
      const daemon::repair_order r = repairs.front();
      repairs.erase(repairs.begin());
      if (r.kind == repair_kind::spread) copied.push_back(r.ssd);
      boss.finished(r.id, repairs_end_well);
      obey();
    }
  }
  /// The volume as SSD `k` knows it.
  const wire::afa::volume_record& at(std::uint32_t k) { return states[k].volumes[1]; }
  bool knows(std::uint32_t k) { return states[k].volumes.contains(1); }
  /// Every living SSD says the same, and it is one of two things.
  /// @return true if the volume is spread over all
  bool is_spread() {
    std::vector<std::uint32_t> width;
    for (std::uint32_t k = 0; k < 4; ++k) {
      if (states[k].dead) continue;
      CAPTURE(k);
      REQUIRE(knows(k));
      width.push_back(at(k).ssd_count);
      CHECK(at(k).ssd_count == width.front());
      CHECK(at(k).spread == (width.front() == 5 ? volume_spread::dropping : volume_spread::whole));
      CHECK(rights(k, 1, 20) == wire::afa::right_read);
    }
    if (!states[4].dead) {
      CHECK(knows(4) == (width.front() == 5));
      if (knows(4)) CHECK(at(4).spread == volume_spread::dropping);
      if (knows(4)) CHECK(rights(4, 1, 20) == wire::afa::right_read);
    }
    return width.front() == 5;
  }

  bool repairs_end_well = true;
  std::vector<std::uint32_t> copied;
};

/// Notes which widths SSDs know in the epochs that are published, and what is dropped when.
struct watch {
  grown_array& a;
  std::uint32_t informed_of_move = 0;  ///< SSDs
  std::uint32_t epoch_of_moving = 0;   ///< the last in which one was informed

  void operator()(const daemon::ssd_order& o) {
    if (o.opcode != admin_opcode::volume_chmod) return;
    if (o.chmod.spread == volume_spread::moved) {
      CHECK(a.at(4).ssd_count == 5);  // it has its share
      ++informed_of_move;
      epoch_of_moving = o.epoch;
    }
    if (o.chmod.spread != volume_spread::dropping) return;
    CHECK(o.epoch > epoch_of_moving);
    CHECK(a.boss.published().epoch == o.epoch);
    for (std::uint32_t k = 0; k < 5; ++k) {
      if (!a.states[k].dead) CHECK(a.states[k].serving.epoch == o.epoch);
      if (!a.states[k].dead) CHECK(a.at(k).ssd_count == 5);
    }
  }
};

}  // namespace

TEST_CASE(
    "a volume is spread over an SSD that joins: copied, announced, in another epoch, dropped") {
  grown_array a;
  a.before_order = watch{a};
  const std::uint32_t before = a.boss.published().epoch;
  a.spread();
  a.obey();
  CHECK(a.replies.back().request != a.request);
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].kind == repair_kind::spread);
  CHECK(a.repairs[0].ssd == 4);
  CHECK(a.at(4).spread == volume_spread::joining);
  CHECK(a.rights(4, 1, 20) == 0);
  for (std::uint32_t k = 0; k < 4; ++k) {
    CHECK(a.at(k).ssd_count == 4);
    CHECK(a.at(k).spread == volume_spread::whole);
  }
  CHECK(a.boss.volumes()[0].ssd_count == 4);
  a.settle();
  CHECK(a.replies.back().request == a.request);
  CHECK(a.replies.back().said == verdict::done);
  CHECK(a.is_spread());
  CHECK(a.boss.published().epoch == before + 1);
  CHECK(a.boss.volumes()[0].ssd_count == 5);
  // There is no further SSD, and it is written as before.
  a.spread();
  CHECK(a.last().said == verdict::done);
  CHECK(a.boss.published().epoch == before + 1);
  a.boss.open(++a.request, 1, 21, true);
  CHECK(a.last().said == verdict::done);
  for (std::uint32_t k = 0; k < 5; ++k)
    CHECK(a.rights(k, 1, 21) == (wire::afa::right_read | wire::afa::right_write));
}

TEST_CASE("nobody begins to write a volume while it is spread") {
  grown_array a;
  REQUIRE(a.open(1, 20) == verdict::done);
  a.boss.tick(2000);  // the lease is over, and its holder says nothing
  a.spread();
  a.obey();
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].kind == repair_kind::converge);
  for (std::uint32_t k = 0; k < 4; ++k) CHECK(a.rights(k, 1, 20) == wire::afa::right_read);
  CHECK(!a.knows(4));
  a.boss.renew(++a.request, 1, 20);
  a.boss.open(++a.request, 1, 21, true);
  a.obey();
  CHECK(a.replies.back().said == verdict::lost_lease);
  a.settle();
  REQUIRE(a.replies.size() > 2);
  CHECK(a.replies[a.replies.size() - 2].said == verdict::done);  // the spread, then the open
  CHECK(a.replies.back().request == a.request);
  CHECK(a.replies.back().said == verdict::done);
  CHECK(a.copied == std::vector<std::uint32_t>{4});
}

TEST_CASE("a volume that cannot be spread now stays as it is, and somebody hears why") {
  grown_array a;
  a.boss.spread(++a.request, 7);
  CHECK(a.last().said == verdict::unknown_volume);
  a.fail(4);
  a.spread();
  CHECK(a.last().said == verdict::busy);
  a.replace(4);
  a.spread();
  CHECK(a.last().said == verdict::busy);  // it is being filled
  a.settle();
  a.states[4].full = true;
  a.spread();
  CHECK(a.last().said == verdict::refused);
  a.states[4].full = false;
  a.repairs_end_well = false;
  a.spread();
  a.settle();
  CHECK(a.replies.back().said == verdict::failed);
  CHECK(!a.is_spread());
  a.repairs_end_well = true;
  a.fail(0);
  a.fail(1);
  a.spread();
  CHECK(a.last().said == verdict::torn_volume);
}

TEST_CASE("an SSD that dies at any order of a spread leaves a volume that is spread or is not") {
  std::uint32_t spread = 0;
  std::uint32_t not_spread = 0;
  for (std::uint32_t victim = 0; victim < 5; ++victim) {
    for (std::uint32_t at = 1; at < 40; ++at) {
      for (const bool carried_out : {false, true}) {
        CAPTURE(victim);
        CAPTURE(at);
        CAPTURE(carried_out);
        grown_array a;
        std::uint32_t n = 0;
        watch w{a};
        a.before_order = [&](const daemon::ssd_order& o) {
          if (!a.states[4].dead) w(o);
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
        a.spread();
        a.settle();
        if (!a.states[victim].dead) continue;
        a.fail(victim);
        a.settle();
        const bool all = a.is_spread();
        REQUIRE(a.replies.back().request == a.request);
        CHECK(a.replies.back().said == (all ? verdict::done : verdict::failed));
        CHECK(a.boss.volumes()[0].ssd_count == (all ? 5 : 4));
        (all ? spread : not_spread) += 1;
        a.before_order = nullptr;
        a.swallow = nullptr;
        a.replace(victim);
        a.settle();
        CHECK(a.is_spread() == all);
        if (!all) a.spread();
        if (!all) a.settle();
        CHECK(a.is_spread());
      }
    }
  }
  CHECK(spread > 50);
  CHECK(not_spread > 5);
}

TEST_CASE("a manager that takes over in the middle of a spread finishes it or takes it back") {
  std::uint32_t spread = 0;
  std::uint32_t not_spread = 0;
  for (std::uint32_t at = 1; at < 40; ++at) {
    for (const bool dies : {false, true}) {  // and an SSD with it
      CAPTURE(at);
      CAPTURE(dies);
      grown_array a;
      std::uint32_t n = 0;
      watch w{a};
      a.before_order = w;
      bool crashed = false;
      a.swallow = [&](const daemon::ssd_order&) {
        crashed = crashed || ++n == at;
        return crashed;
      };
      a.spread();
      a.settle();
      if (!crashed) continue;
      std::uint32_t moved = 0;
      std::uint32_t latest = 0;
      for (std::uint32_t k = 0; k < 5; ++k) {
        latest = std::max(latest, a.states[k].serving.epoch);
        if (a.knows(k) && a.at(k).spread == volume_spread::moved) ++moved;
      }
      if (dies) a.states[2].dead = true;
      a.swallow = nullptr;
      a.replies.clear();
      a.before_order = nullptr;
      a.take_over(50);
      a.settle();
      const bool all = a.is_spread();
      if (moved > 1 || (moved == 1 && !dies)) {
        CHECK(all);
        CHECK(a.boss.published().epoch > latest);
      }
      (all ? spread : not_spread) += 1;
      CHECK(a.boss.volumes()[0].ssd_count == (all ? 5 : 4));
      if (dies) a.replace(2);
      a.settle();
      a.spread();
      a.settle();
      CHECK(a.replies.back().said == verdict::done);
      CHECK(a.is_spread());
    }
  }
  CHECK(spread > 10);
  CHECK(not_spread > 10);
}

TEST_CASE("an SSD that refuses an order half-way: nobody writes until it is finished") {
  for (const volume_spread refused : {volume_spread::moved, volume_spread::dropping}) {
    for (const std::uint32_t who : {0u, 1u, 2u, 3u, 4u}) {
      const bool asked_again = who % 2 == 0;
      CAPTURE(who);
      grown_array a;
      a.swallow = [&](const daemon::ssd_order& o) {
        if (o.ssd != who || o.opcode != admin_opcode::volume_chmod || o.chmod.spread != refused)
          return false;
        a.boss.answered(o.id, wire::afa::make_status(wire::afa::status::bad_payload));
        return true;
      };
      a.spread();
      a.settle();
      CHECK(a.replies.back().said == verdict::failed);
      CHECK(a.open(1, 21) == verdict::busy);
      CHECK(a.open(1, 22, false) == verdict::done);
      a.boss.close(++a.request, 1, 22, true);
      CHECK(a.last().said == verdict::done);
      a.copied.clear();
      a.swallow = nullptr;
      if (asked_again) a.spread();
      if (!asked_again) a.boss.tick(5'000'000'000);  // it is tried again by itself
      a.settle();
      CHECK(a.replies.back().said == verdict::done);
      CHECK(a.copied.empty());  // it has its share
      CHECK(a.is_spread());
      CHECK(a.open(1, 21) == verdict::done);
    }
  }
}

TEST_CASE("a writer that an SSD does not give up is no reason to go on") {
  for (const bool spreads : {false, true}) {
    grown_array a;
    REQUIRE(a.open(1, 20) == verdict::done);
    a.boss.tick(2000);
    a.swallow = [&](const daemon::ssd_order& o) {
      if (o.ssd != 1) return false;
      a.boss.answered(o.id, wire::afa::make_status(wire::afa::status::writer_exists));
      return true;
    };
    if (spreads) a.spread();
    if (!spreads) a.boss.open(++a.request, 1, 21, true);
    CHECK(a.last().said == verdict::refused);
    CHECK(a.repairs.empty());
    CHECK(!a.knows(4));
    a.swallow = nullptr;
    a.boss.open(++a.request, 1, 21, true);
    a.settle();
    CHECK(a.replies.back().said == verdict::done);
  }
}

TEST_CASE("a spread ends where too many SSDs fail, and where replicas cannot be made equal") {
  for (const bool converging : {false, true}) {
    for (const bool fails : {false, true}) {
      CAPTURE(converging);
      CAPTURE(fails);
      grown_array a;
      if (converging) REQUIRE(a.open(1, 20) == verdict::done);
      a.boss.tick(2000);
      a.spread();
      a.obey();
      REQUIRE(a.repairs.size() == 1);
      CHECK(a.repairs[0].kind == (converging ? repair_kind::converge : repair_kind::spread));
      if (fails) {
        a.states[0].dead = a.states[1].dead = true;
        a.fail(0);
        a.fail(1);
      } else {
        (void)a.repaired(false);
      }
      CHECK(a.repairs.empty());
      CHECK(a.replies.back().said == verdict::failed);
      CHECK(!a.is_spread());
    }
  }
}

TEST_CASE("an SSD that joined and has forgotten is filled anew, and its volume stays") {
  grown_array a;
  a.spread();
  a.settle();
  REQUIRE(a.is_spread());
  for (std::uint32_t k = 0; k < 4; ++k) a.states[k].volumes[1].spread = volume_spread::moved;
  a.states[4].volumes.erase(1);
  a.take_over(5000);
  a.settle();
  REQUIRE(a.boss.volumes().size() == 1);
  CHECK(a.boss.published().absent == 1 << 4);
  for (std::uint32_t k = 0; k < 4; ++k) CHECK(a.at(k).spread == volume_spread::dropping);
  a.replace(4);
  a.settle();
  CHECK(a.boss.published().absent == 0);
  CHECK(a.is_spread());
}

TEST_CASE("a renewal that meets a spread comes too late, though the writer is not fenced yet") {
  grown_array a;
  REQUIRE(a.open(1, 20) == verdict::done);
  a.boss.tick(2000);
  a.swallow = [](const daemon::ssd_order&) { return true; };  // none has answered
  a.spread();
  a.obey();
  a.boss.renew(++a.request, 1, 20);
  CHECK(a.last().said == verdict::lost_lease);
}

TEST_CASE("what an SSD has left of a volume does not keep it from joining") {
  grown_array a;
  a.states[4].volumes[1] = described(1);
  a.states[4].volumes[1].spread = volume_spread::joining;
  a.spread();
  a.settle();
  CHECK(a.replies.back().said == verdict::done);
  CHECK(a.is_spread());
}

TEST_CASE("whichever SSDs have been informed when a manager crashes, the next one finishes") {
  for (std::uint32_t informed = 1; informed < 31; ++informed) {  // by bit
    CAPTURE(informed);
    grown_array a;
    bool begun = false;
    a.swallow = [&](const daemon::ssd_order& o) {
      begun = begun || o.chmod.spread == volume_spread::moved;
      return begun && (informed >> o.ssd & 1) == 0;
    };
    a.spread();
    a.settle();
    REQUIRE(begun);
    a.swallow = nullptr;
    a.take_over(50);
    a.settle();
    CHECK(a.is_spread());  // the SSD that joins has its share
    REQUIRE(a.boss.volumes().size() == 1);
  }
}

TEST_CASE("a spread drops nothing of another volume that only some SSDs know") {
  grown_array a;
  wire::afa::volume_record r = described(2);
  r.ssd_count = 4;
  a.boss.create(++a.request, r);
  REQUIRE(a.last().said == verdict::done);
  a.swallow = [&](const daemon::ssd_order& o) {
    if (o.ssd != 3 || o.vid != 1 || o.chmod.spread != volume_spread::moved) return false;
    a.boss.answered(o.id, wire::afa::make_status(wire::afa::status::bad_payload));
    return true;
  };
  a.spread();
  a.settle();
  REQUIRE(a.replies.back().said == verdict::failed);
  a.boss.spread(++a.request, 2);
  a.settle();
  CHECK(a.replies.back().said == verdict::done);
  CHECK(a.states[0].volumes[2].spread == volume_spread::dropping);
  CHECK(a.at(0).spread == volume_spread::moved);
  a.swallow = nullptr;
  a.spread();
  a.settle();
  CHECK(a.is_spread());
}
