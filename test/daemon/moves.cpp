/// Volumes that are moved while somebody writes them: over an SSD more, or over one fewer. In
/// order, with SSDs that fail and managers that crash at any order, and where too much is written.

#include "rig.hpp"
#include <daemon/client_rights.hpp>

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::volume_spread;

namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t s = 1000 * ms;
constexpr std::uint16_t writes = wire::afa::right_read | wire::afa::right_write;

/// Five SSDs, and a volume over the first four of them or over all, that client 20 writes.
struct written_array : obedient_array {
  explicit written_array(bool grows) : obedient_array(5), grows(grows) {
    options.lease_ns = 1000 * s;
    boss = manager(options);
    wire::afa::volume_record r = described(1);
    r.ssd_count = grows ? 4 : 5;
    boss.create(++request, r);
    REQUIRE(last().said == verdict::done);
    REQUIRE(open(1, 20) == verdict::done);
    boss.take_orders();
  }
  void move() {
    if (grows) boss.spread(++request, 1);
    if (!grows) boss.narrow(++request, 1, 4);
    asked = request;
  }
  /// Asks for the move, and ends the first repairs of it.
  void begin(int repairs_ended) {
    move();
    obey();
    for (int k = 0; k < repairs_ended; ++k) (void)ended();
  }
  std::uint32_t width() { return boss.volumes().at(0).ssd_count; }
  std::uint32_t wanted() const { return grows ? 5 : 4; }
  const wire::afa::volume_record& at(std::uint32_t k) { return states[k].volumes[1]; }
  bool is_held(std::uint32_t k) {
    return states[k].volumes.contains(1) && at(k).held_until > states[k].serving.epoch;
  }
  /// What the writer has written since that was asked the last time.
  static daemon::regions_by_volume regions(std::initializer_list<std::uint32_t> some) {
    wire::afa::dirty_regions written{};
    for (const std::uint32_t region : some) written.words[region / 32] |= 1u << region % 32;
    return {{1, written}};
  }
  /// Ends the only repair there is.
  daemon::repair_order ended(const daemon::regions_by_volume& written = {}) {
    REQUIRE(repairs.size() == 1);
    const daemon::repair_order r = repairs.back();
    repairs.clear();
    boss.finished(r.id, true, {}, written);
    obey();
    return r;
  }
  /// Carries out whatever there is to do; two regions are written during each copy.
  void settle() {
    obey();
    for (int n = 0; n < 100 && !repairs.empty(); ++n) {
      const daemon::repair_order r = repairs.front();
      repairs.erase(repairs.begin());
      done.push_back(r);
      boss.finished(r.id, true, {}, r.kind == repair_kind::watch ? regions({1, 7}) : regions({}));
      obey();
    }
  }
  verdict said() {
    for (const daemon::reply& r : replies)
      if (r.request == asked) return r.said;
    return verdict::unknown_volume;
  }
  /// Every living SSD says the same, and the writer may write.
  void check_sound() {
    for (std::uint32_t k = 0; k < 5; ++k) {
      if (states[k].dead) continue;
      CAPTURE(k);
      CHECK(states[k].volumes.contains(1) == (k < width()));
      if (k >= width()) continue;
      CHECK(at(k).ssd_count == width());
      CHECK(!daemon::is_moving(at(k).spread));
      CHECK(rights(k, 1, 20) == writes);
      CHECK(!is_held(k));
    }
    REQUIRE(boss.lease_of(1));
    CHECK(boss.lease_of(1)->client == 20);
  }

  bool grows;
  std::uint64_t asked = 0;
  std::vector<daemon::repair_order> done;
};

/// Looks at each order: where a volume lies is changed only while nobody may write it, and nobody
/// may again before every SSD knows where it lies.
struct witness {
  written_array& a;

  void operator()(const daemon::ssd_order& o) {
    if (o.opcode != admin_opcode::volume_chmod || a.states[o.ssd].dead) return;
    const bool frees =
        (o.chmod.sets & wire::afa::volume_chmod::sets_hold) != 0 && o.chmod.held_until != ~0u;
    std::uint32_t former = 0;
    std::uint32_t informed = 0;
    for (std::uint32_t k = 0; k < 5; ++k) {
      if (a.states[k].dead || !a.states[k].volumes.contains(1)) continue;
      if (a.at(k).spread == volume_spread::joining) continue;
      const bool knows = a.at(k).ssd_count == a.wanted();
      informed += knows && k < a.wanted() ? 1 : 0;
      former += knows || k >= a.wanted() ? 0 : 1;
    }
    if (o.chmod.spread == volume_spread::moved && o.chmod.ssd_count == a.wanted() &&
        informed == 0) {
      for (std::uint32_t k = 0; k < (a.grows ? 4u : 5u); ++k)
        if (!a.states[k].dead) CHECK(a.is_held(k));
    }
    if (frees && informed != 0) CHECK(former == 0);
  }
};

}  // namespace

TEST_CASE(
    "who was held for a move that a failure has ended is let write, also where that is refused") {
  using wire::afa::volume_chmod;
  for (const bool grows : {true, false}) {
    CAPTURE(grows);
    written_array a(grows);
    a.move();
    bool refused = false;
    a.before_order = [&](const daemon::ssd_order& o) {
      const bool holds = o.opcode == admin_opcode::volume_chmod && o.chmod.held_until == ~0u;
      if (holds && o.ssd == 2) a.states[2].dead = true;  // before all know, and others do
    };
    a.swallow = [&](const daemon::ssd_order& o) {
      const bool frees = o.opcode == admin_opcode::volume_chmod && o.chmod.held_until != ~0u &&
                         (o.chmod.sets & volume_chmod::sets_hold) != 0;
      if (!frees || o.ssd != 3 || std::exchange(refused, true)) return false;
      a.boss.answered(o.id, wire::afa::make_status(wire::afa::status::too_many_clients));
      return true;
    };
    a.settle();
    REQUIRE(a.states[2].dead);
    REQUIRE(refused);
    for (std::uint64_t k = 1; k <= 3; ++k) {
      a.boss.tick(k * a.options.try_again_ns);
      a.settle();
    }
    for (std::uint32_t k : {0u, 1u, 3u}) {
      CAPTURE(k);
      CHECK(!a.is_held(k));
      CHECK(a.rights(k, 1, 20) == writes);
    }
  }
}

TEST_CASE("a volume moves while it is written: copied, copied again, held, and announced") {
  for (const bool grows : {true, false}) {
    CAPTURE(grows);
    const repair_kind copies = grows ? repair_kind::spread : repair_kind::drain;
    written_array a(grows);
    a.before_order = witness{a};
    const std::uint32_t before = a.boss.published().epoch;
    a.move();
    a.obey();
    CHECK(a.ended(a.regions({3, 400})).kind == repair_kind::watch);
    // All of it, whatever was written before.
    REQUIRE(a.repairs.size() == 1);
    CHECK(a.repairs[0].kind == copies);
    CHECK(a.repairs[0].kept.regions.empty());
    CHECK(!a.repairs[0].zeroes);
    a.boss.renew(++a.request, 1, 20);
    CHECK(a.last().said == verdict::done);
    CHECK(a.open(1, 21, false) == verdict::done);  // others read
    a.boss.tick(10 * s);
    CHECK(a.ended().kind == copies);
    CHECK(a.ended(a.regions({0, 1, 2, 3, 4, 500})).kind == repair_kind::watch);
    // That was long, and much was written: once more.
    REQUIRE(a.repairs.size() == 1);
    CHECK(a.repairs[0].kind == copies);
    CHECK(a.repairs[0].zeroes);
    REQUIRE(a.repairs[0].kept.regions.contains(1));
    CHECK(a.repairs[0].kept.regions.at(1).holds(500));
    CHECK(!a.repairs[0].kept.regions.at(1).holds(400));
    for (std::uint32_t k = 0; k < 5; ++k) CHECK(!a.is_held(k));
    CHECK(a.ended().kind == copies);
    CHECK(a.ended(a.regions({9, 10})).kind == repair_kind::watch);
    // That was short: nobody may write now.
    for (std::uint32_t k = 0; k < (grows ? 4u : 5u); ++k) CHECK(a.is_held(k));
    for (std::uint32_t k = 0; k < 4; ++k) CHECK(a.at(k).ssd_count == (grows ? 4 : 5));
    a.boss.renew(++a.request, 1, 20);
    CHECK(a.last().said == verdict::done);
    CHECK(a.ended(a.regions({77})).kind == repair_kind::watch);
    REQUIRE(a.repairs.size() == 1);
    CHECK(a.repairs[0].kind == copies);
    for (const std::uint32_t region : {9u, 10u, 77u})
      CHECK(a.repairs[0].kept.regions.at(1).holds(region));
    CHECK(a.boss.published().epoch == before);
    (void)a.ended();
    CHECK(a.said() == verdict::done);
    CHECK(a.width() == a.wanted());
    CHECK(a.boss.published().epoch == before + 1);
    a.check_sound();
  }
}

TEST_CASE("an SSD that dies at any order of such a move: it is over, and the writer writes") {
  for (const bool grows : {true, false}) {
    std::uint32_t moved = 0;
    std::uint32_t stayed = 0;
    for (std::uint32_t victim = 0; victim < 5; ++victim) {
      for (std::uint32_t at = 1; at < 60; ++at) {
        for (const bool carried_out : {false, true}) {
          CAPTURE(grows);
          CAPTURE(victim);
          CAPTURE(at);
          CAPTURE(carried_out);
          written_array a(grows);
          std::uint32_t n = 0;
          witness w{a};
          a.before_order = [&](const daemon::ssd_order& o) {
            if (!a.states[victim].dead) w(o);
            if (++n == at && !carried_out) a.states[victim].dead = true;
          };
          a.swallow = [&](const daemon::ssd_order& o) {
            if (n != at || !carried_out || o.ssd != victim || a.states[victim].dead) return false;
            std::uint16_t status = 0;
            obedient_array::carry_out(a.states[victim], o, status, 5);
            a.states[victim].dead = true;
            a.boss.ssd_failed(victim);
            return true;
          };
          a.move();
          a.settle();
          if (!a.states[victim].dead) continue;
          const std::uint32_t before = a.boss.published().epoch;
          a.fail(victim);
          a.settle();
          a.check_sound();
          CHECK(a.boss.published().epoch >= before);
          CHECK(a.said() == (a.width() == a.wanted() ? verdict::done : verdict::failed));
          (a.width() == a.wanted() ? moved : stayed) += 1;
          a.before_order = nullptr;
          a.swallow = nullptr;
          a.replace(victim);
          a.settle();
          a.move();
          a.settle();
          CHECK(a.said() == verdict::done);
          CHECK(a.width() == a.wanted());
          a.check_sound();
        }
      }
    }
    CHECK(moved > 20);
    CHECK(stayed > 2);
  }
}

TEST_CASE("a manager that takes over in the middle of such a move takes no right from the writer") {
  for (const bool grows : {true, false}) {
    std::uint32_t moved = 0;
    std::uint32_t stayed = 0;
    std::uint32_t held = 0;
    for (std::uint32_t at = 1; at < 60; ++at) {
      for (const std::uint32_t heard : {0u, 1u, 2u}) {  // of this step's orders, the others
        CAPTURE(grows);
        CAPTURE(at);
        CAPTURE(heard);
        written_array a(grows);
        a.before_order = witness{a};
        std::uint32_t n = 0;
        std::uint32_t later = 0;
        a.swallow = [&](const daemon::ssd_order&) {
          if (++n < at) return false;
          return ++later > heard;
        };
        a.move();
        a.settle();
        if (n < at) continue;
        bool any_held = false;
        std::uint32_t latest = 0;
        for (std::uint32_t k = 0; k < 5; ++k) {
          any_held = any_held || a.is_held(k);
          latest = std::max(latest, a.states[k].serving.epoch);
        }
        held += any_held ? 1 : 0;
        a.swallow = nullptr;
        a.before_order = nullptr;
        a.take_over(50);
        a.settle();
        a.check_sound();
        // Whoever was refused waits for another epoch.
        if (any_held) CHECK(a.boss.published().epoch > latest);
        (a.width() == a.wanted() ? moved : stayed) += 1;
      }
    }
    CHECK(moved > 5);
    CHECK(stayed > 5);
    CHECK(held > 5);
  }
}

TEST_CASE("what a writer has written is known to the move also where it closes in order") {
  for (const bool grows : {true, false}) {
    CAPTURE(grows);
    written_array a(grows);
    a.begin(1);
    bool wiped = false;
    a.before_order = [&](const daemon::ssd_order& o) {
      wiped = wiped || (o.chmod.sets & wire::afa::volume_chmod::sets_clean) != 0;
    };
    a.boss.close(++a.request, 1, 20, true);
    CHECK(a.last().said == verdict::done);
    a.settle();
    CHECK(a.said() == verdict::done);
    CHECK(!wiped);
  }
}

TEST_CASE("an SSD that fails as the last copy ends: nobody is informed of the move") {
  for (const bool grows : {true, false}) {
    for (const bool copies : {true, false}) {
      CAPTURE(grows);
      CAPTURE(copies);
      written_array a(grows);
      a.begin(3);
      REQUIRE(a.is_held(0));
      if (copies) (void)a.ended(a.regions({3}));
      REQUIRE(a.repairs.size() == 1);
      const std::uint64_t last = a.repairs[0].id;
      a.repairs.clear();
      const std::uint32_t victim = grows ? 4 : 2;
      a.states[victim].dead = true;
      a.boss.ssd_failed(victim);  // noted, and not carried out yet
      a.boss.finished(last, true);
      a.obey();
      a.settle();
      CHECK(a.said() == verdict::failed);
      CHECK(a.width() != a.wanted());
      a.check_sound();
    }
  }
}

TEST_CASE("an SSD that refuses an order of such a move half-way: it is finished or taken back") {
  for (const bool grows : {true, false}) {
    for (const bool aimed : {true, false}) {  // the array's own aim, or somebody's wish
      std::uint32_t refusals = 0;
      for (std::uint32_t at = 1; at < 60; ++at) {
        CAPTURE(grows);
        CAPTURE(aimed);
        CAPTURE(at);
        written_array a(grows);
        std::uint32_t n = 0;
        a.swallow = [&](const daemon::ssd_order& o) {
          if (o.opcode != admin_opcode::volume_chmod || ++n != at) return false;
          a.boss.answered(o.id, wire::afa::make_status(wire::afa::status::bad_payload));
          return true;
        };
        if (aimed) a.boss.set_aim(4, grows ? daemon::ssd_aim::join : daemon::ssd_aim::drain);
        if (!aimed) a.move();
        a.settle();
        if (n < at) break;
        ++refusals;
        a.swallow = nullptr;
        a.boss.tick(2 * s);  // what is half done is tried again by itself
        a.settle();
        a.check_sound();
        a.boss.tick(100 * s);
        a.move();
        a.settle();
        CHECK(a.said() == verdict::done);
        CHECK(a.width() == a.wanted());
        a.check_sound();
      }
      CHECK(refusals > 15);
    }
  }
}

TEST_CASE("an SSD that also refuses what takes such a move back keeps nobody waiting for ever") {
  for (const bool grows : {true, false}) {
    std::uint32_t refusals = 0;
    std::uint32_t all_held = 0;
    for (std::uint32_t at = 1; at < 40; ++at) {
      for (std::uint32_t gap = 1; gap < 8; ++gap) {
        CAPTURE(grows);
        CAPTURE(at);
        CAPTURE(gap);
        written_array a(grows);
        std::uint32_t n = 0;
        a.swallow = [&](const daemon::ssd_order& o) {
          if (o.opcode != admin_opcode::volume_chmod) return false;
          ++n;
          if (n != at && n != at + gap) return false;
          a.boss.answered(o.id, wire::afa::make_status(wire::afa::status::bad_payload));
          return true;
        };
        a.move();
        a.settle();
        if (n < at + gap) break;
        ++refusals;
        a.swallow = nullptr;
        // Its writer is gone: whoever is next may have to wait, but not for ever.
        a.boss.expel(++a.request, 1, 20);
        a.obey();
        bool held = false;
        for (std::uint32_t k = 0; k < a.width(); ++k) held = held || a.is_held(k);
        all_held += held ? 1 : 0;
        a.boss.open(++a.request, 1, 21, true);
        a.settle();
        REQUIRE(a.replies.back().request == a.request);
        if (held) CHECK(a.replies.back().said == verdict::busy);  // no replica could be written
        for (std::uint64_t t = 2; t < 6; ++t) {
          a.boss.tick(t * s);
          a.settle();
        }
        a.boss.open(++a.request, 1, 21, true);
        a.settle();
        REQUIRE(a.replies.back().request == a.request);
        CHECK(a.replies.back().said == verdict::done);
        for (std::uint32_t k = 0; k < a.width(); ++k) CHECK(!a.is_held(k));
      }
    }
    CHECK(refusals > 40);
    CHECK(all_held > 2);
  }
}

TEST_CASE("who renames, extends or deletes a volume that moves does not wait for that") {
  for (const bool grows : {true, false}) {
    for (const bool removes : {true, false}) {
      CAPTURE(grows);
      CAPTURE(removes);
      written_array a(grows);
      a.begin(1);
      if (removes) {
        a.boss.remove(++a.request, 1);
      } else {
        wire::afa::volume_chmod longer{};
        longer.sets = wire::afa::volume_chmod::sets_capacity;
        longer.capacity_blocks = a.boss.volumes()[0].capacity_blocks * 2;
        a.boss.rename(++a.request, 1, longer);
      }
      CHECK(a.last().said == verdict::done);
      CHECK(a.replies.back().request == a.request);
      CHECK(a.said() == verdict::busy);
      CHECK(a.boss.volumes().size() == (removes ? 0 : 1));
      if (!removes) a.check_sound();
    }
  }
}

TEST_CASE("so does one that asks between two steps of the move") {
  for (const bool grows : {true, false}) {
    for (const int after : {0, 1, 2, 3}) {  // repairs
      CAPTURE(grows);
      CAPTURE(after);
      written_array a(grows);
      a.move();
      if (after != 0) a.obey();
      for (int k = 0; k < after; ++k) {
        a.boss.tick(10 * s * (k + 1));
        REQUIRE(a.repairs.size() == 1);
        const std::uint64_t id = a.repairs[0].id;
        a.repairs.clear();
        a.boss.finished(id, true, {}, a.regions({1, 2, 3}));
        if (k + 1 < after) a.obey();
      }
      wire::afa::volume_chmod named{};
      named.sets = wire::afa::volume_chmod::sets_labels;
      a.boss.rename(++a.request, 1, named);
      CHECK(a.last().said == verdict::done);
      CHECK(a.replies.back().request == a.request);
      CHECK(a.said() == verdict::busy);
      CHECK(a.repairs.empty());
      a.check_sound();
    }
  }
}

TEST_CASE("where too much is written a move is given up, and nobody was kept from writing") {
  for (const bool grows : {true, false}) {
    CAPTURE(grows);
    written_array a(grows);
    std::uint64_t now = s;
    a.move();
    a.obey();
    std::uint32_t copies = 0;
    while (!a.repairs.empty()) {
      REQUIRE(copies < 100);
      a.boss.tick(now += s);
      copies += a.ended(a.regions({0, 1, 2, 3, 4, 5})).kind != repair_kind::watch ? 1 : 0;
      for (std::uint32_t k = 0; k < 5; ++k) CHECK(!a.is_held(k));
    }
    CHECK(copies > 3);
    CHECK(a.said() == verdict::busy);
    CHECK(a.width() != a.wanted());
    a.check_sound();
  }
}

TEST_CASE("a second is as long as nobody may write, then it is given up for now") {
  for (const bool grows : {true, false}) {
    for (const bool copies : {false, true}) {
      CAPTURE(grows);
      CAPTURE(copies);
      written_array a(grows);
      a.begin(2);
      CHECK(a.ended(a.regions({5})).kind == repair_kind::watch);
      REQUIRE(a.is_held(0));
      if (copies) (void)a.ended();
      REQUIRE(a.repairs.size() == 1);
      const std::uint32_t before = a.boss.published().epoch;
      a.boss.tick(900 * ms);
      a.obey();
      CHECK(a.is_held(0));
      a.boss.tick(1100 * ms);
      a.obey();
      CHECK(a.said() == verdict::busy);
      CHECK(a.boss.published().epoch == before + 1);  // for which clients wait
      a.check_sound();
      CHECK(a.width() != a.wanted());
    }
  }
}

TEST_CASE("a writer that closes, or is expelled, while its volume moves does not wait for that") {
  for (const bool grows : {true, false}) {
    for (const bool expelled : {false, true}) {
      CAPTURE(grows);
      written_array a(grows);
      a.begin(1);
      if (!expelled) a.boss.close(++a.request, 1, 20, false);
      if (expelled) a.boss.expel(++a.request, 1, 20);
      CHECK(a.last().said == verdict::done);
      CHECK(!a.boss.lease_of(1));
      a.boss.open(++a.request, 1, 21, true);
      a.obey();
      CHECK(a.replies.back().request != a.request);  // who wants to begin does
      a.settle();
      CHECK(a.said() == verdict::done);
      CHECK(a.width() == a.wanted());
      CHECK(a.replies.back().request == a.request);
      CHECK(a.replies.back().said == verdict::done);
      // What the former one had under way may have reached one replica alone.
      CHECK(std::any_of(a.done.begin(), a.done.end(), [](const daemon::repair_order& r) {
        return r.kind == repair_kind::converge;
      }));
      for (std::uint32_t k = 0; k < a.wanted(); ++k) CHECK(a.rights(k, 1, 21) == writes);
    }
  }
}

TEST_CASE("what was asked when an epoch began nobody knows: all of it is copied again") {
  for (const bool grows : {true, false}) {
    CAPTURE(grows);
    written_array a(grows);
    a.begin(1);
    a.boss.tick(10 * s);
    (void)a.ended();
    REQUIRE(a.repairs.size() == 1);
    CHECK(a.repairs[0].kind == repair_kind::watch);
    a.repairs.clear();
    a.states[1].dead = true;  // one of its answers may have been given
    if (!grows) {
      a.fail(1);  // no SSD can be left without it
      CHECK(a.said() == verdict::failed);
      a.check_sound();
      continue;
    }
    a.fail(1);
    REQUIRE(a.repairs.size() == 1);
    CHECK(a.ended(a.regions({})).kind == repair_kind::watch);
    REQUIRE(a.repairs.size() == 1);
    CHECK(a.repairs[0].kind == repair_kind::spread);
    CHECK(a.repairs[0].kept.regions.empty());
    CHECK(a.repairs[0].zeroes);
    a.settle();
    CHECK(a.said() == verdict::done);
    a.check_sound();
  }
}
