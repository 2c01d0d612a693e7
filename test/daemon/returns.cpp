/// SSDs that come back after a failure, and lose only what others have changed meanwhile.

#include "rig.hpp"
#include <daemon/client_rights.hpp>

#include <utility>

using namespace gnstor;
using namespace gnstor::test;
using daemon::repair_order;

namespace {

constexpr std::uint64_t hour = 3'600'000'000'000;

wire::afa::dirty_regions regions(std::uint16_t vid, std::uint32_t word = 0) {
  wire::afa::dirty_regions d{};
  d.version = wire::afa::payload_version;
  d.vid = vid;
  d.words[0] = word;
  return d;
}

/// SSDs with volumes 1 to 3, of which client 10 writes volume 2.
struct failing_array : obedient_array {
  explicit failing_array(std::uint32_t ssds = 3) : obedient_array(ssds, hour) {
    for (std::uint16_t vid = 1; vid <= 3; ++vid) make(vid);
    REQUIRE(open(2, 10) == verdict::done);
  }
  void make(std::uint16_t vid, std::uint16_t replicas = 2) {
    wire::afa::volume_record r = described(vid, replicas);
    r.hash_factor = 100 + vid;
    boss.create(++request, r);
    REQUIRE(last().said == verdict::done);
  }
  const daemon::membership& now() const { return boss.published(); }
  bool is_absent(std::uint32_t k) const { return (now().absent >> k & 1) != 0; }
  void lose(std::uint32_t k) {
    fail(k);
    REQUIRE(is_absent(k));
    log.clear();
  }
  daemon::ssd_report report(std::uint32_t k) const {
    daemon::ssd_report r{.serving = states[k].serving};
    for (const auto& [vid, v] : states[k].volumes) r.volumes.push_back(v);
    return r;
  }
  void comes_back(std::uint32_t k) { comes_back(k, report(k)); }
  void comes_back(std::uint32_t k, const daemon::ssd_report& says) {
    std::vector<std::uint16_t> has;
    for (const auto& v : says.volumes) has.push_back(v.vid);
    boss.ssd_replaced(k, has, says);
    obey();
  }
  /// The only repair, which is of a kind.
  const repair_order& repair(repair_kind kind) const {
    REQUIRE(repairs.size() == 1);
    REQUIRE(repairs[0].kind == kind);
    return repairs[0];
  }
  /// The SSD has lost what these regions say, of all volumes that were asked for.
  repair_order forgotten(std::uint32_t word = 0) {
    const repair_order r = repair(repair_kind::forget);
    daemon::regions_by_volume all;
    for (const auto& [vid, before] : r.kept.regions)
      all[vid] = regions(vid, before.words[0] | (vid == 2 ? word : 0));
    return forgotten(all);
  }
  repair_order forgotten(const daemon::regions_by_volume& all, bool ok = true) {
    const repair_order r = repair(repair_kind::forget);
    repairs.clear();
    boss.finished(r.id, ok, {}, all);
    obey();
    return r;
  }
  bool logged(const std::string& what) const {
    return std::count(log.begin(), log.end(), what) != 0;
  }
};

}  // namespace

TEST_CASE("an SSD that failed comes back without what others have changed, and is given that") {
  failing_array a;
  a.lose(1);
  const std::uint32_t epoch = a.now().epoch;
  a.comes_back(1);
  CHECK(a.logged("attach 1"));
  const repair_order first = a.forgotten(0b101);
  CHECK(first.ssd == 1);
  CHECK(first.fenced == 0);
  CHECK(first.kept.regions.size() == 3);
  for (const auto& [vid, d] : first.kept.regions) CHECK(d.version == 0);  // never asked for
  CHECK(first.kept.lost == 2);
  CHECK(first.kept.together == 2);

  // A client may have written volume 2 since: the others have left the epoch, and SSD 1 has not.
  const repair_order second = a.repair(repair_kind::forget);
  CHECK(second.fenced == epoch + 1);
  REQUIRE(second.kept.regions.size() == 1);
  CHECK(second.kept.regions.at(2).words[0] == 0b101);
  CHECK(a.states[0].serving.epoch == epoch + 1);
  CHECK(a.states[0].serving.filling == 2);
  CHECK(a.states[1].serving.epoch == epoch);
  CHECK(a.states[1].serving.absent == 2);
  CHECK(a.now().epoch == epoch);  // no client is sent there before
  CHECK_FALSE(a.logged("delete 1"));

  (void)a.forgotten(0b1000);
  CHECK(a.states[1].serving.epoch == epoch + 1);
  CHECK(a.now().epoch == epoch + 1);
  CHECK(a.now().filling == 2);
  const repair_order fill = a.repair(repair_kind::fill);
  CHECK(fill.left_out.empty());
  CHECK(fill.kept.regions.size() == 3);
  CHECK(fill.kept.regions.at(2).words[0] == 0b1101);
  CHECK(fill.kept.regions.at(1).words[0] == 0);
  CHECK(a.repaired().kind == repair_kind::fill);
  CHECK(a.now().filling == 0);
  CHECK(a.boss.absences().of(1) == nullptr);
}

TEST_CASE("where nobody may write, nobody waits for an SSD that is back") {
  failing_array a;
  a.boss.close(++a.request, 2, 10, true);
  a.lose(1);
  const std::uint32_t epoch = a.now().epoch;
  a.comes_back(1);
  (void)a.forgotten();
  CHECK(a.repair(repair_kind::fill).kept.regions.size() == 3);
  CHECK(a.now().epoch == epoch + 1);
  CHECK(a.now().filling == 2);
}

TEST_CASE("rounds go on until little is new, beside all else") {
  failing_array a;
  a.lose(1);
  a.comes_back(1);
  (void)a.forgotten(0xff);
  CHECK(a.repair(repair_kind::forget).fenced == 0);  // eight regions: once more
  REQUIRE(a.open(1, 11) == verdict::done);           // meanwhile
  (void)a.forgotten(0xff);
  const repair_order last = a.repair(repair_kind::forget);
  CHECK(last.fenced != 0);
  CHECK(last.kept.regions.size() == 2);  // that one, too
  (void)a.forgotten();
  CHECK(a.repair(repair_kind::fill).kept.regions.at(2).words[0] == 0xff);
}

TEST_CASE("a writer that never rests does not keep an SSD out") {
  failing_array a;
  a.lose(1);
  a.comes_back(1);
  std::uint32_t rounds = 1;
  for (std::uint32_t word = 0xff; a.repair(repair_kind::forget).fenced == 0; ++rounds) {
    REQUIRE(rounds < 20);
    daemon::regions_by_volume all;
    for (const auto& [vid, before] : a.repair(repair_kind::forget).kept.regions) {
      all[vid] = regions(vid, word);
      for (std::uint32_t w = 1; w <= rounds; ++w) all[vid].words[w] = ~0u;
    }
    (void)a.forgotten(all);
  }
  CHECK(rounds == 9);
}

TEST_CASE("no mark is wiped while somebody is away who will ask for it, and then they are") {
  failing_array a;
  std::vector<std::uint16_t> wiped;
  a.before_order = [&](const daemon::ssd_order& o) {
    const bool cleans = o.opcode == admin_opcode::volume_chmod &&
                        (o.chmod.sets & wire::afa::volume_chmod::sets_clean) != 0;
    if (cleans && o.ssd == 0) wiped.push_back(o.vid);
  };
  a.lose(1);
  a.boss.close(++a.request, 2, 10, true);
  a.obey();
  REQUIRE(a.open(2, 11) == verdict::done);
  CHECK(wiped.empty());
  a.boss.tick(2 * hour);  // it does not count any more
  a.boss.close(++a.request, 2, 11, true);
  a.obey();
  CHECK(wiped == std::vector<std::uint16_t>{2});
  a.comes_back(1);
  CHECK(a.repair(repair_kind::fill).kept.regions.empty());
  CHECK(a.logged("delete 1"));
}

TEST_CASE("what is another volume by now, or lies elsewhere, is filled whole") {
  failing_array a(4);
  a.lose(1);
  a.boss.remove(++a.request, 3);
  a.obey();
  a.make(3);
  a.comes_back(1);
  CHECK(a.forgotten().kept.regions.size() == 2);
  (void)a.forgotten();
  CHECK_FALSE(a.repair(repair_kind::fill).kept.regions.contains(3));
  CHECK(a.logged("delete 1"));
}

TEST_CASE("an SSD that was there long ago, or is being filled by what it knows, is filled whole") {
  for (const bool fills : {false, true}) {
    CAPTURE(fills);
    failing_array a;
    a.lose(1);
    daemon::ssd_report says = a.report(1);
    if (fills) says.serving.filling = 2;
    if (!fills) says.serving.epoch -= 1;
    a.comes_back(1, says);
    CHECK(a.repair(repair_kind::fill).kept.regions.empty());
    CHECK(a.logged("delete 1"));
  }
}

TEST_CASE("an SSD that fails meanwhile makes the others begin again, at any order") {
  for (std::size_t stop = 0; stop < 16; ++stop) {
    CAPTURE(stop);
    failing_array a(5);
    a.lose(1);
    std::size_t orders = 0;
    a.before_order = [&](const daemon::ssd_order&) {
      if (orders++ == stop) a.states[4].dead = true;
    };
    a.comes_back(1);
    for (int k = 0; k < 8 && !a.repairs.empty() && a.repairs[0].kind == repair_kind::forget; ++k)
      (void)a.forgotten(0b10);
    a.boss.ssd_failed(4);  // in any case
    a.obey();
    for (int k = 0; k < 8 && !a.repairs.empty() && a.repairs[0].kind == repair_kind::forget; ++k)
      (void)a.forgotten(0b10);
    CHECK(a.boss.idle());
    CHECK(a.now().absent == 16);
    CHECK(a.now().filling == 2);
    CHECK(a.repair(repair_kind::fill).kept.regions.at(2).words[0] == 0b10);
    for (const std::uint32_t k : {0u, 1u, 2u, 3u}) {
      CAPTURE(k);
      CHECK(a.states[k].serving.epoch == a.now().epoch);
      CHECK(a.states[k].serving.filling == 2);
    }
  }
}

TEST_CASE("an SSD that fails again while it loses what it has stays out, and all know that") {
  for (const bool fenced : {false, true}) {
    CAPTURE(fenced);
    failing_array a;
    a.lose(1);
    a.comes_back(1);
    if (fenced) (void)a.forgotten();
    CHECK((a.repair(repair_kind::forget).fenced != 0) == fenced);
    a.states[1].dead = true;
    a.boss.ssd_failed(1);
    a.obey();
    CHECK(a.repairs.empty());
    CHECK(a.boss.idle());
    CHECK(a.unfit == std::vector<std::uint32_t>{1});
    CHECK(a.logged("detach 1"));
    CHECK(a.now().absent == 2);
    CHECK(a.now().filling == 0);
    CHECK(a.states[0].serving.epoch == a.now().epoch);
    CHECK(a.states[0].serving.absent == 2);
    CHECK(a.open(1, 12) == verdict::done);
  }
}

TEST_CASE("what cannot be asked for is filled whole, after a few attempts") {
  failing_array a;
  a.make(4, 1);
  a.lose(1);
  a.comes_back(1);
  std::uint32_t attempts = 0;
  for (; a.repair(a.repairs.at(0).kind).kind == repair_kind::forget; ++attempts) {
    REQUIRE(attempts < 10);
    CHECK_FALSE(a.repairs[0].kept.regions.contains(4));
    (void)a.forgotten({}, false);
  }
  CHECK(attempts > 2);
  CHECK(a.repair(repair_kind::fill).kept.regions.empty());
  CHECK(a.repairs[0].left_out == std::vector<std::uint16_t>{4});  // a single replica is its own
  CHECK(a.logged("delete 1"));
  CHECK(a.now().filling == 2);
}

TEST_CASE("where writers do not stand still, what nobody writes is kept") {
  failing_array a;
  a.lose(1);
  a.comes_back(1);
  std::uint32_t attempts = 0;
  while (a.repairs.at(0).kind == repair_kind::forget) {
    if (a.repairs[0].fenced == 0) {
      (void)a.forgotten();
      continue;
    }
    REQUIRE(++attempts < 10);
    (void)a.forgotten({}, false);
    CHECK(a.states[0].serving.absent == 2);  // they do not wait
    CHECK(a.now().epoch == a.states[0].serving.epoch);
  }
  CHECK(attempts == 3);
  const repair_order fill = a.repair(repair_kind::fill);
  CHECK(fill.kept.regions.size() == 2);
  CHECK_FALSE(fill.kept.regions.contains(2));
}

TEST_CASE("what counts of an SSD is looked at when nothing else is under way") {
  SUBCASE("a volume is being made") {
    failing_array a;
    a.lose(1);
    a.comes_back(1);
    std::vector<daemon::ssd_order> held;
    a.swallow = [&](const daemon::ssd_order& o) {
      if (o.vid == 9) held.push_back(o);
      return o.vid == 9;
    };
    a.boss.create(++a.request, described(9));
    a.obey();
    REQUIRE(!held.empty());
    (void)a.forgotten();  // now
    a.swallow = {};
    for (const daemon::ssd_order& o : held) a.obey(o);
    a.obey();
    REQUIRE(a.repair(repair_kind::forget).fenced != 0);
    (void)a.forgotten();
    CHECK(a.states[1].volumes.contains(9));
    CHECK(a.open(9, 12) == verdict::done);
  }
  SUBCASE("somebody gets the right to write") {
    failing_array a;
    REQUIRE(a.open(1, 11) == verdict::done);
    a.boss.client_gone(11);
    a.obey();
    a.lose(1);
    a.boss.open(++a.request, 1, 12, true);
    a.obey();
    REQUIRE(a.repairs.size() == 1);
    REQUIRE(a.repairs[0].kind == repair_kind::converge);
    const auto converge = a.repairs[0].id;
    a.repairs.clear();
    a.comes_back(1);
    const repair_order first = a.repair(repair_kind::forget);
    a.repairs.clear();
    daemon::regions_by_volume all;
    for (const auto& [vid, d] : first.kept.regions) all[vid] = regions(vid);
    a.boss.finished(first.id, true, {}, all);
    a.boss.finished(converge, true);
    CHECK(a.last().said == verdict::done);
    const repair_order last = a.repair(repair_kind::forget);
    CHECK(last.fenced != 0);
    CHECK(last.kept.regions.contains(1));  // which client 12 may have written since
  }
}

TEST_CASE("an SSD knows after another attempt who may write by then, and nobody else") {
  failing_array a;
  a.lose(1);
  REQUIRE(a.open(1, 11) == verdict::done);
  a.comes_back(1);
  (void)a.forgotten();
  REQUIRE(a.repair(repair_kind::forget).fenced != 0);
  REQUIRE((a.rights(1, 1, 11) & wire::afa::right_write) != 0);
  (void)a.forgotten({}, false);
  a.boss.close(++a.request, 1, 11, true);
  a.obey();
  (void)a.forgotten();
  (void)a.forgotten();
  REQUIRE(a.now().filling == 2);
  CHECK(a.rights(1, 1, 11) == 0);
  CHECK(a.open(1, 12) == verdict::done);
}

TEST_CASE("an SSD that fails when it knows the latest records keeps what it has") {
  failing_array a;
  a.make(4, 1);
  a.lose(1);
  a.comes_back(1);
  (void)a.forgotten();
  REQUIRE(a.repair(repair_kind::forget).fenced != 0);
  REQUIRE(a.states[1].volumes.at(1).epoch > a.boss.absences().of(1)->epoch);
  a.boss.ssd_failed(1);
  a.obey();
  a.comes_back(1);
  (void)a.forgotten();
  (void)a.forgotten();
  CHECK(a.repair(repair_kind::fill).kept.regions.size() == 3);
  CHECK(a.repairs[0].left_out == std::vector<std::uint16_t>{4});
  CHECK_FALSE(a.logged("delete 1"));
}

TEST_CASE("whom an SSD lets in that has not answered is known to the next attempt") {
  failing_array a(4);
  a.lose(1);
  REQUIRE(a.open(1, 11) == verdict::done);
  bool lost = false;
  a.swallow = [&](const daemon::ssd_order& o) {
    if (lost || o.ssd != 1 || o.vid != 1 || o.opcode != admin_opcode::volume_chmod) return false;
    lost = true;
    std::uint16_t status = 0;
    obedient_array::carry_out(a.states[1], o, status, 4);
    return true;  // nobody hears of the answer
  };
  a.comes_back(1);
  (void)a.forgotten();
  REQUIRE(lost);
  REQUIRE((a.rights(1, 1, 11) & wire::afa::right_write) != 0);
  a.fail(3);
  a.boss.close(++a.request, 1, 11, true);
  a.obey();
  (void)a.forgotten();
  (void)a.forgotten();
  REQUIRE(a.now().filling == 2);
  CHECK(a.rights(1, 1, 11) == 0);
  CHECK(a.repair(repair_kind::fill).kept.regions.size() == 3);
}

TEST_CASE("a volume that an SSD was given anew counts in no later attempt") {
  failing_array a;
  a.lose(1);
  bool refused = false;
  a.swallow = [&](const daemon::ssd_order& o) {
    if (refused || o.ssd != 1 || o.vid != 3 || o.opcode != admin_opcode::volume_chmod) return false;
    refused = true;
    a.boss.answered(o.id, wire::afa::make_status(wire::afa::status::name_exists));
    return true;
  };
  a.comes_back(1);
  (void)a.forgotten();
  REQUIRE(refused);
  REQUIRE(a.repair(repair_kind::forget).fenced != 0);
  (void)a.forgotten({}, false);
  (void)a.forgotten();
  (void)a.forgotten();
  CHECK(a.repair(repair_kind::fill).kept.regions.size() == 2);
  CHECK_FALSE(a.repairs[0].kept.regions.contains(3));
}

TEST_CASE("volumes that have taken each other's names meanwhile are kept") {
  failing_array a;
  const auto rename = [&](std::uint16_t vid, const char* name) {
    wire::afa::volume_chmod change{};
    change.sets = wire::afa::volume_chmod::sets_name;
    std::strncpy(change.name.bytes, name, sizeof change.name.bytes - 1);
    a.boss.rename(++a.request, vid, change);
    REQUIRE(a.last().said == verdict::done);
  };
  rename(1, "one");
  rename(3, "three");
  a.lose(1);
  rename(1, "other");
  rename(3, "one");
  rename(1, "three");
  a.comes_back(1);
  (void)a.forgotten();
  (void)a.forgotten();
  CHECK(a.repair(repair_kind::fill).kept.regions.size() == 3);
  CHECK_FALSE(a.logged("delete 1"));
  CHECK(a.states[1].volumes[1].name == a.states[0].volumes[1].name);
  CHECK(a.states[1].volumes[3].name == a.states[0].volumes[3].name);
}

TEST_CASE("an SSD that is back in time keeps what it has, however long it takes to forget") {
  failing_array a;
  a.lose(1);
  a.comes_back(1);
  REQUIRE(a.repair(repair_kind::forget).fenced == 0);
  a.boss.tick(2 * hour);
  (void)a.forgotten();
  (void)a.forgotten();
  CHECK(a.repair(repair_kind::fill).kept.regions.size() == 3);
}

TEST_CASE("an SSD that fails while it forgets may try again") {
  failing_array a;
  a.lose(1);
  a.comes_back(1);
  a.boss.ssd_failed(1);
  a.obey();
  REQUIRE(a.unfit.size() == 1);
  a.comes_back(1);
  (void)a.forgotten();
  (void)a.forgotten();
  CHECK(a.repair(repair_kind::fill).kept.regions.size() == 3);
}

TEST_CASE("a volume that has moved meanwhile is kept like others, one that is about to is not") {
  using wire::afa::volume_spread;
  wire::afa::volume_record a = described(1);
  a.ssd_count = 4;
  wire::afa::volume_record b = a;
  CHECK(daemon::caught_up(a, b));
  a.spread = b.spread = volume_spread::dropping;
  CHECK(daemon::caught_up(a, b));
  // It missed the end of a move that brought it its share, or that was given up.
  for (const volume_spread missed : {volume_spread::whole, volume_spread::gathering,
                                     volume_spread::joining, volume_spread::moved}) {
    a.spread = missed;
    auto change = daemon::caught_up(a, b);
    REQUIRE(change);
    change->version = wire::afa::payload_version;
    CHECK(change->spread == volume_spread::dropping);
    wire::afa::volume_record there = a;
    CHECK(wire::afa::apply_chmod(there, *change, 5) == 0);
    CHECK(there.spread == volume_spread::dropping);
  }
  a.spread = volume_spread::creating;
  CHECK_FALSE(daemon::caught_up(a, b));
  // It left while others were informed: it has all that it is to have, or more.
  b.spread = volume_spread::moved;
  for (const bool grew : {true, false}) {
    a.spread = grew ? volume_spread::whole : volume_spread::gathering;
    b.ssd_count = grew ? 5 : 3;
    auto change = daemon::caught_up(a, b);
    REQUIRE(change);
    change->version = wire::afa::payload_version;
    wire::afa::volume_record there = a;
    CHECK(wire::afa::apply_chmod(there, *change, 5) == 0);
    CHECK(there.ssd_count == b.ssd_count);
    CHECK(there.spread == volume_spread::moved);
    b.ssd_count = grew ? 3 : 5;
    CHECK_FALSE(daemon::caught_up(a, b));
  }
  b.spread = volume_spread::dropping;  // others have dropped since what they had
  a.spread = volume_spread::whole;
  CHECK_FALSE(daemon::caught_up(a, b));
  b.ssd_count = 4;
  a.spread = b.spread = volume_spread::gathering;
  CHECK_FALSE(daemon::caught_up(a, b));
}

TEST_CASE("nobody waits for an SSD that is back for longer than a second") {
  failing_array a;
  a.boss.tick(100);
  a.lose(1);
  a.comes_back(1);
  (void)a.forgotten();
  REQUIRE(a.repair(repair_kind::forget).fenced != 0);
  a.boss.tick(2'000'000'000);
  a.obey();
  CHECK(a.repair(repair_kind::forget).fenced == 0);
  CHECK(a.states[0].serving.absent == 2);
  CHECK(a.now().epoch == a.states[0].serving.epoch);
  CHECK(a.states[1].serving.epoch == a.now().epoch);
}

TEST_CASE("another manager has an SSD begin anew that does not know yet that it takes writes") {
  failing_array a;
  a.lose(1);
  a.comes_back(1);
  (void)a.forgotten();
  REQUIRE(a.repair(repair_kind::forget).fenced != 0);
  REQUIRE(a.states[0].serving.filling == 2);
  a.take_over(100);
  a.obey();
  CHECK(a.now().absent == 2);  // it has lost nothing of what was changed last
  CHECK(a.now().filling == 0);
  CHECK(a.repairs.empty());
  a.comes_back(1);
  CHECK(a.repair(repair_kind::fill).kept.regions.empty());
  CHECK(a.logged("delete 1"));
}

TEST_CASE("another manager goes on to fill an SSD that knows that it takes writes") {
  failing_array a;
  a.lose(1);
  a.comes_back(1);
  (void)a.forgotten();
  (void)a.forgotten();
  REQUIRE(a.now().filling == 2);
  a.take_over(100);
  a.obey();
  CHECK(a.now().absent == 0);
  CHECK(a.repair(repair_kind::fill).kept.regions.empty());  // it finds what is there
}

TEST_CASE("what SSDs have that left together is theirs, and what one left later has is not") {
  failing_array a(5);
  a.boss.ssd_failed(1);
  a.boss.ssd_failed(2);
  a.obey();
  a.fail(3);
  REQUIRE(a.now().absent == 0b1110);
  CHECK(a.boss.absences().of(1)->together == 0b0110);
  CHECK(a.boss.absences().of(1)->lost == 0b1110);
  CHECK(a.boss.absences().of(2)->together == 0b0110);
  CHECK(a.boss.absences().of(3)->together == 0b1110);
  a.comes_back(1);
  CHECK(a.repair(repair_kind::forget).kept.together == 0b0110);
  (void)a.forgotten();
  (void)a.forgotten();
  REQUIRE(a.repair(repair_kind::fill).ssd == 1);
  // Of what lies on 1 and 2 nothing has changed: what 1 marks from now on is all that can be.
  CHECK(a.boss.absences().of(2)->lost == 0b1100);
  CHECK(a.boss.absences().of(2)->together == 0b0100);
  // But 3 has taken writes without 1, of which that knows nothing.
  CHECK(a.boss.absences().of(3)->lost == 0b1110);
  CHECK(a.boss.absences().of(3)->together == 0b1100);
  a.repairs.clear();
  a.boss.ssd_failed(4);
  a.obey();
  CHECK(a.boss.absences().of(2)->lost == 0b11100);
  a.states[3] = {};
  a.boss.ssd_replaced(3);  // a new one, which has nothing of before
  a.obey();
  CHECK(a.boss.absences().of(2)->lost == 0b11100);
  CHECK(a.boss.absences().of(2)->together == 0b0100);
}

TEST_CASE("who serves alone while it is being filled does not know all that has changed") {
  failing_array a(4);
  a.lose(1);
  a.replace(1);  // another one, which is being filled
  a.fail(2);
  CHECK(a.boss.absences().of(2)->together == 0b0100);
  CHECK(a.boss.absences().of(2)->lost == 0b0110);
}

TEST_CASE("an SSD whose place another one has taken has nothing that counts") {
  obedient_array a(5, hour);
  a.boss.set_aim(4, daemon::ssd_aim::spare);
  a.fail(4);
  a.create(9);
  a.fail(1);
  REQUIRE(a.boss.absences().of(1) != nullptr);
  a.boss.ssd_stands_in(4, 1);
  a.obey();
  REQUIRE((a.boss.published().filling >> 4 & 1) == 1);
  CHECK(a.boss.absences().of(1) == nullptr);
}

TEST_CASE("an SSD that fails while another one is about to follow it has nothing that counts") {
  obedient_array a(5, hour);
  a.boss.set_aim(4, daemon::ssd_aim::spare);
  a.fail(4);
  a.create(9);
  a.boss.ssd_stands_in(4, 1);
  a.obey();
  REQUIRE((a.boss.published().filling >> 4 & 1) == 1);
  a.fail(1);
  REQUIRE(a.boss.absences().of(1) != nullptr);
  CHECK(a.boss.absences().of(1)->changed.empty());
  CHECK_FALSE(a.boss.absences().of(1)->partly);
}

TEST_CASE("a volume that is not removed after all is filled with the others") {
  for (const bool over : {false, true}) {
    CAPTURE(over);
    obedient_array a(4);
    a.create(1);
    a.create(2);
    a.fail(1);
    a.replace(1);
    REQUIRE(a.repairs.size() == 1);
    bool refuses = true;
    a.swallow = [&](const daemon::ssd_order& o) {
      if (o.opcode != admin_opcode::volume_chmod || o.vid != 2 || o.ssd != 3 || !refuses)
        return false;
      // Meanwhile the fill that leaves it out is over.
      if (over && !a.repairs.empty()) {
        a.boss.finished(a.repairs[0].id, true);
        a.repairs.clear();
      }
      a.boss.answered(o.id, wire::afa::make_status(wire::afa::status::stale_epoch));
      return true;
    };
    a.boss.remove(++a.request, 2);
    CHECK(a.last().said == verdict::refused);
    REQUIRE(a.repairs.size() == 1);
    CHECK(a.repairs[0].kind == repair_kind::fill);
    CHECK(a.offered == 2);
    CHECK(a.boss.published().filling == 2);
    (void)a.repaired();
    CHECK(a.boss.published().filling == 0);
  }
}
