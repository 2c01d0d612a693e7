/// What a repair asks of the SSDs, and what is left when it is over.

#include "rig.hpp"
#include <daemon/repair.hpp>

#include <bit>
#include <cstring>
#include <deque>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <utility>

using namespace gnstor;
using namespace gnstor::test;
using daemon::repair;
using daemon::repair_step;
using daemon::step_end;

namespace {

/// Replicas as maps from block to a letter; capital letters are damaged.
struct letters {
  explicit letters(std::uint32_t ssds) : ssd(ssds) {}

  /// Carries the repair out; how many commands it took.
  std::uint32_t run(repair& r) {
    std::uint32_t commands = 0;
    for (; r.step(); ++commands) {
      REQUIRE(commands < 10'000);
      const repair_step p = *r.step();
      if (p.ssd == silent) {
        r.answered(step_end::failed);
      } else if (gone) {
        r.answered(step_end::gone);
      } else if (worn && p.what != repair_step::kind::read &&
                 p.what != repair_step::kind::regions) {
        r.answered(step_end::damaged);
      } else {
        r.answered(serve(p));
      }
    }
    return commands;
  }
  step_end serve(const repair_step& p) {
    if (p.what == repair_step::kind::regions || p.what == repair_step::kind::regions_since) {
      wire::afa::dirty_regions said{};
      said.version = wire::afa::payload_version;
      said.vid = p.vid;
      for (std::uint32_t w = 0; w < std::size(said.words); ++w)
        said.words[w] = dirty ? (*dirty)[p.ssd].words[w] : ~std::uint32_t{0};
      std::memcpy(memory.data(), &said, sizeof said);
      return step_end::done;
    }
    bool damaged = false;
    if (p.vid != 1) {  // another volume, of which nothing was written
      REQUIRE(p.what == repair_step::kind::read);
      std::memset(memory.data() + std::size_t{p.buffer} * block_bytes, 0, p.blocks * block_bytes);
      return step_end::done;
    }
    for (std::uint32_t k = 0; k < p.blocks; ++k) {
      char& here = ssd[p.ssd][p.first.value + k];
      char* data = memory.data() + std::size_t{p.buffer + k} * block_bytes;
      const bool bad = here >= 'A' && here <= 'Z';
      switch (p.what) {
        case repair_step::kind::read:
          damaged = damaged || bad;
          std::memset(data, here, block_bytes);
          break;
        case repair_step::kind::write: here = data[0]; break;
        case repair_step::kind::fill:
          filled |= 1u << p.ssd;
          if (here == 0 || bad) here = data[0];
          break;
        case repair_step::kind::spoil:
          if (here == 0) here = 'X';
          break;
        case repair_step::kind::forget: here = 0; break;
        case repair_step::kind::regions:
        case repair_step::kind::regions_since: break;
      }
    }
    return damaged ? step_end::damaged : step_end::done;
  }

  std::vector<std::map<std::uint32_t, char>> ssd;
  std::vector<char> memory = std::vector<char>(repair::memory_blocks * std::size_t{block_bytes});
  std::uint32_t silent = ~0u;
  bool gone = false;
  unsigned filled = 0;  ///< SSDs that were given what they lack
  bool worn = false;    ///< it takes no writes
  /// By SSD: what it has marked. Nothing: all of it.
  std::optional<std::vector<wire::afa::dirty_regions>> dirty;
};

const rendezvous_placement placement(4);

replica_set where(const wire::afa::volume_record& r, std::uint32_t block) {
  return placement.replicas(volume_id(r.vid), r.hash_factor, block / r.stripe_blocks, r.replicas);
}
/// Every replica of every third block holds a letter.
letters written(const wire::afa::volume_record& r) {
  letters a(4);
  for (std::uint32_t b = 0; b < r.capacity_blocks; b += 3) {
    const replica_set w = where(r, b);
    for (std::uint32_t k = 0; k < w.count; ++k) a.ssd[w.ssd[k].value][b] = char('a' + b % 26);
  }
  return a;
}
repair begin(letters& a, repair_kind kind, const wire::afa::volume_record& r,
             const daemon::membership& serving = {}, std::uint32_t ssd = 0,
             std::vector<std::uint32_t> blocks = {}) {
  return {{1, kind, r.vid, ssd, std::move(blocks)}, serving, 4, {r, described(9)}, a.memory.data()};
}

}  // namespace

TEST_CASE("a volume that clients write leaves an SSD by what that one has, and no other") {
  wire::afa::volume_record r = described(1, 2);
  r.ssd_count = 4;
  letters a = written(r);
  daemon::repair_order order{1, repair_kind::drain, 1, 3};
  order.live = true;
  bool sound = true;
  const auto carried_out = [&] {
    repair job(order, {}, 4, {r}, a.memory.data());
    std::uint32_t reads = 0;
    while (job.step()) {
      const bool is_read = job.step()->what == repair_step::kind::read;
      if (is_read && sound) CHECK(job.step()->ssd == 3);
      reads += is_read ? 1 : 0;
      job.answered(a.serve(*job.step()));
    }
    CHECK(reads != 0);
    return job.ok();
  };
  CHECK(carried_out());
  for (auto& [block, here] : a.ssd[3]) {  // others may not have what it has marked
    if (here == 0) continue;
    here = 'X';
    sound = false;
    break;
  }
  REQUIRE(!sound);
  CHECK_FALSE(carried_out());
  // Of a spread all are asked, and any sound replica will do.
  letters b = written(r);
  daemon::repair_order grows{1, repair_kind::spread, 1, 4};
  grows.live = true;
  for (std::uint32_t block = 0; block < r.capacity_blocks; block += 3)
    b.ssd[where(r, block).ssd[0].value][block] = 'X';
  b.ssd.resize(5);
  repair job(grows, {}, 5, {r}, b.memory.data());
  (void)b.run(job);
  CHECK(job.ok());
  CHECK(job.mended() != 0);
}

TEST_CASE("who moves a volume asks where it was written; one that it leaves is asked alone") {
  const auto r = described(1, 3);
  letters a = written(r);
  a.dirty.emplace(4);
  for (std::uint32_t k = 0; k < 4; ++k) (*a.dirty)[k].words[k] = 1u << k;
  for (const std::uint32_t ssd : {3u, 4u}) {  // the last of the volume, and one that joins
    CAPTURE(ssd);
    repair job = begin(a, repair_kind::watch, r, {}, ssd);
    std::uint32_t asked = 0;
    while (job.step()) {
      CHECK(job.step()->what == repair_step::kind::regions_since);
      asked |= 1u << job.step()->ssd;
      job.answered(a.serve(*job.step()));
    }
    CHECK(asked == (ssd == 3 ? 8u : 15u));
    CHECK(job.ok());
    const wire::afa::dirty_regions& found = job.forgotten().at(1);
    for (std::uint32_t k = 0; k < 4; ++k) CHECK((found.words[k] != 0) == (ssd == 4 || k == 3));
  }
  a.gone = true;
  repair vain = begin(a, repair_kind::watch, r, {}, 4);
  (void)a.run(vain);
  CHECK(!vain.ok());
}

TEST_CASE("to converge makes replicas equal, by a value that one of them had") {
  const auto r = described(1, 3);
  letters a = written(r);
  std::uint32_t spoiled = 0;
  for (std::uint32_t b = 1; b < 100; b += 7, ++spoiled)
    a.ssd[where(r, b).ssd[b % 3].value][b] = 'z';
  a.ssd[where(r, 50).ssd[1].value][50] = 'D';
  repair job = begin(a, repair_kind::converge, r);
  a.run(job);
  CHECK(job.ok());
  CHECK(job.mended() > 0);
  CHECK(job.lost() == 0);
  for (std::uint32_t b = 0; b < 100; ++b) {
    CAPTURE(b);
    const replica_set w = where(r, b);
    const char value = a.ssd[w.ssd[0].value][b];
    for (std::uint32_t k = 1; k < 3; ++k) CHECK(a.ssd[w.ssd[k].value][b] == value);
    const char before = b % 3 == 0 ? char('a' + b % 26) : '\0';
    CHECK((value == before || (b % 7 == 1 && value == 'z')));
  }
  letters equal = written(r);
  repair nothing = begin(equal, repair_kind::converge, r);
  CHECK(equal.run(nothing) == 4 + 25 * 3);  // each SSD, and each replica of each stripe, once
  CHECK(nothing.ok());
  CHECK(nothing.mended() == 0);
}

TEST_CASE("to converge compares what any SSD has marked as dirty, and nothing else") {
  const auto r = described(1, 2);
  letters a = written(r);
  a.dirty.emplace(4);
  const auto mark = [&](std::uint32_t ssd, std::uint32_t stripe) {
    (*a.dirty)[ssd].words[stripe / 32] |= 1u << stripe % 32;
  };
  // A write reached one replica each of three stripes; of one of them nobody says so.
  for (const std::uint32_t stripe : {3u, 11u, 20u}) {
    const ssd_index at = where(r, stripe * 4).ssd[stripe % 2];
    a.ssd[at.value][stripe * 4 + 1] = 'w';
    if (stripe != 20) mark(at.value, stripe);
  }
  mark(where(r, 4 * 17).ssd[0].value, 17);  // equal all the same
  repair job = begin(a, repair_kind::converge, r);
  CHECK(a.run(job) == 4 + 3 * 2 + 2);
  CHECK(job.ok());
  CHECK(job.compared() == 3 * 4);
  const auto equal = [&](std::uint32_t b) {
    const replica_set w = where(r, b);
    return a.ssd[w.ssd[0].value][b] == a.ssd[w.ssd[1].value][b];
  };
  CHECK(equal(3 * 4 + 1));
  CHECK(equal(11 * 4 + 1));
  CHECK_FALSE(equal(20 * 4 + 1));

  SUBCASE("an SSD that is away is not asked, one under filling is") {
    repair less = begin(a, repair_kind::converge, r, {.epoch = 2, .absent = 1, .filling = 2});
    unsigned asked = 0;
    for (; less.step(); less.answered(a.serve(*less.step()))) {
      if (less.step()->what == repair_step::kind::regions) asked |= 1u << less.step()->ssd;
    }
    CHECK(asked == 0b1110);
  }
}

TEST_CASE("an answer that is none makes all of the volume dirty") {
  const auto r = described(1, 2);
  letters a = written(r);
  a.dirty.emplace(4);
  repair job = begin(a, repair_kind::converge, r);
  for (; job.step(); job.answered(a.serve(*job.step()))) {
    if (job.step()->what != repair_step::kind::regions || job.step()->ssd != 2) continue;
    std::memset(a.memory.data(), 0, sizeof(wire::afa::dirty_regions));
    job.answered(step_end::done);
  }
  CHECK(job.ok());
  CHECK(job.compared() == 100);
}

TEST_CASE("of a volume of billions of blocks only dirty regions are looked at") {
  auto r = described(1, 2);
  r.capacity_blocks = wire::afa::max_volume_blocks;
  r.stripe_blocks = 1;
  r.region_shift = wire::afa::region_shift_for(r.capacity_blocks);
  letters a(4);
  a.dirty.emplace(4);
  repair nothing = begin(a, repair_kind::converge, r);
  CHECK(a.run(nothing) == 4);
  CHECK(nothing.ok());
  (*a.dirty)[3].words[15] = 1u << 31;  // the last one
  repair job = begin(a, repair_kind::converge, r);
  for (std::uint32_t asked = 0; asked < 4; ++asked) job.answered(a.serve(*job.step()));
  REQUIRE(job.step());
  CHECK(job.step()->first.value == r.capacity_blocks / 512 * 511 + r.capacity_blocks % 512);
}

TEST_CASE("a region of a volume that has grown stands for stripes further on, too") {
  auto r = described(1, 2);
  r.capacity_blocks = 4 * 1200;
  r.region_shift = 1;
  letters a(4);
  a.dirty.emplace(4);
  (*a.dirty)[2].words[1] = 1;  // region 32: stripes 64 and 65, and 1024 further on
  repair job = begin(a, repair_kind::converge, r);
  std::vector<std::uint64_t> seen;
  for (; job.step(); job.answered(a.serve(*job.step()))) {
    const std::uint64_t stripe = job.step()->first.value / 4;
    const bool reads = job.step()->what == repair_step::kind::read;
    if (reads && (seen.empty() || seen.back() != stripe)) seen.push_back(stripe);
  }
  CHECK(seen == std::vector<std::uint64_t>{64, 65, 64 + 1024, 65 + 1024});
}

TEST_CASE("to converge writes to an SSD under filling, which nobody may read") {
  const auto r = described(1, 2);
  letters a = written(r);
  for (auto& [b, letter] : a.ssd[2]) letter = 'y';
  repair job = begin(a, repair_kind::converge, r, {.epoch = 3, .filling = 4});
  a.run(job);
  CHECK(job.ok());
  for (std::uint32_t b = 0; b < 100; ++b) {
    const replica_set w = where(r, b);
    if (w.contains(ssd_index(2))) CHECK(a.ssd[w.ssd[0].value][b] == a.ssd[w.ssd[1].value][b]);
  }
}

TEST_CASE("an SSD is given what its places hold, and what nobody has reads as an error") {
  const auto r = described(1, 2);
  const letters whole = written(r);
  letters a = whole;
  a.ssd[1].clear();
  const std::uint32_t newer = [&] {
    for (std::uint32_t b = 0;; b += 3) {
      if (where(r, b).contains(ssd_index(1))) return b;
    }
  }();
  a.ssd[1][newer] = 'n';  // written since
  std::uint32_t hopeless = newer + 3;
  while (!where(r, hopeless).contains(ssd_index(1))) hopeless += 3;
  const replica_set w = where(r, hopeless);
  const std::uint32_t source = w.ssd[w.ssd[0].value == 1 ? 1 : 0].value;
  a.ssd[source][hopeless] = 'Q';
  repair job = begin(a, repair_kind::fill, r, {.epoch = 3, .filling = 2}, 1);
  a.run(job);
  CHECK(job.ok());
  CHECK(job.lost() == 1);
  for (std::uint32_t b = 0; b < 100; ++b) {
    CAPTURE(b);
    const auto at = whole.ssd[1].find(b);
    const char expected = b == newer                 ? 'n'
                          : b == hopeless            ? 'X'
                          : at == whole.ssd[1].end() ? '\0'
                                                     : at->second;
    CHECK(a.ssd[1][b] == expected);
  }
}

TEST_CASE("an SSD is filled by one replica of each place, and nobody else is given anything") {
  const auto r = described(1, 3);
  const letters whole = written(r);
  letters a = whole;
  a.ssd[1].clear();
  repair job = begin(a, repair_kind::fill, r, {.epoch = 3, .filling = 2}, 1);
  const std::uint32_t commands = a.run(job);
  CHECK(job.ok());
  CHECK(a.filled == 1 << 1);
  CHECK(commands <= 2 * 25 * 2);  // a stripe: one read and one fill, and another volume's read
  CHECK(a.ssd[1].size() >= whole.ssd[1].size());
  for (const auto& [b, letter] : whole.ssd[1]) CHECK(a.ssd[1][b] == letter);
}

TEST_CASE("a scrub finds what is damaged, and what it found is mended, nothing else") {
  const auto r = described(1, 3);
  letters a = written(r);
  a.ssd[where(r, 30).ssd[0].value][30] = 'B';
  a.ssd[where(r, 33).ssd[2].value][33] = 'C';
  a.ssd[where(r, 33).ssd[0].value][33] = 'D';
  a.ssd[where(r, 36).ssd[1].value][36] = 'm';  // a write under way
  for (std::uint32_t k = 0; k < 3; ++k) a.ssd[where(r, 39).ssd[k].value][39] = 'E';
  repair job = begin(a, repair_kind::scrub, r);
  a.run(job);
  CHECK(job.ok());
  CHECK(job.mended() == 0);
  CHECK(job.lost() == 1);
  CHECK(job.damaged() == std::vector<std::uint32_t>{30, 33});
  CHECK(a.filled == 0);

  a.ssd[where(r, 42).ssd[1].value][42] = 'F';  // nobody has found this
  repair mend = begin(a, repair_kind::mend, r, {.epoch = 3}, 0, {30, 33, 99, 5000});
  CHECK(mend.to_look_at() == 4);
  CHECK(a.run(mend) == 3 * 3 + 3);
  CHECK(mend.ok());
  CHECK(mend.mended() == 3);
  CHECK(mend.looked_at() == 4);
  CHECK(a.ssd[where(r, 30).ssd[0].value][30] == char('a' + 30 % 26));
  CHECK(a.ssd[where(r, 33).ssd[2].value][33] == char('a' + 33 % 26));
  CHECK(a.ssd[where(r, 33).ssd[0].value][33] == char('a' + 33 % 26));
  CHECK(a.ssd[where(r, 36).ssd[1].value][36] == 'm');
  CHECK(a.ssd[where(r, 42).ssd[1].value][42] == 'F');
}

/// Carries out a repair in parts, whose commands come in a drawn order; what they come to together.
repair run_parts(letters& a, daemon::repair_order order, const daemon::membership& serving,
                 const wire::afa::volume_record& r, std::uint32_t seed) {
  struct one {
    std::vector<char> memory;
    repair work;
  };
  std::deque<one> all;
  order.parts = 3;
  for (order.part = 0; order.part < order.parts; ++order.part) {
    std::vector<char> memory(a.memory.size());
    char* const at = memory.data();
    all.push_back({std::move(memory), repair(order, serving, 4, {r, described(9)}, at)});
  }
  std::mt19937 random(seed);
  for (;;) {
    std::vector<one*> left;
    for (one& o : all)
      if (o.work.step()) left.push_back(&o);
    if (left.empty()) break;
    one& next = *left[random() % left.size()];
    std::swap(a.memory, next.memory);
    const step_end how = a.serve(*next.work.step());
    std::swap(a.memory, next.memory);
    next.work.answered(how);
  }
  for (std::uint32_t k = 1; k < 3; ++k) all[0].work.join(all[k].work);
  return std::move(all[0].work);
}

TEST_CASE("parts of a repair do together what it does alone, each stripe once") {
  const auto r = described(1, 2);
  letters before = written(r);
  for (std::uint32_t b = 0; b < 90; b += 9) before.ssd[where(r, b).ssd[1].value][b] = 'q';
  for (std::uint32_t b = 3; b < 90; b += 21) before.ssd[where(r, b).ssd[0].value][b] = 'B';
  for (std::uint32_t k = 0; k < 2; ++k) before.ssd[where(r, 60).ssd[k].value][60] = 'C';
  std::vector<std::uint32_t> found;
  for (const repair_kind kind :
       {repair_kind::scrub, repair_kind::mend, repair_kind::fill, repair_kind::converge}) {
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(seed);
      letters alone = before;
      daemon::membership serving{.epoch = 3};
      if (kind == repair_kind::fill) {
        serving.filling = 2;
        alone.ssd[1].clear();
      }
      letters together = alone;
      const daemon::repair_order order{1, kind, 1, 1, found};
      repair whole(order, serving, 4, {r, described(9)}, alone.memory.data());
      alone.run(whole);
      const repair sum = run_parts(together, order, serving, r, seed);
      CHECK(sum.ok() == whole.ok());
      CHECK(sum.compared() == whole.compared());
      CHECK(sum.mended() == whole.mended());
      CHECK(sum.lost() == whole.lost());
      CHECK(sum.damaged() == whole.damaged());
      CHECK(together.ssd == alone.ssd);
      if (kind == repair_kind::scrub) found = whole.damaged();
    }
  }
  CHECK(found.size() > 3);
}

TEST_CASE("a repair ends where an SSD is silent, and passes by what was deleted") {
  const auto r = described(1, 2);
  letters a = written(r);
  a.silent = where(r, 0).ssd[0].value;
  repair job = begin(a, repair_kind::converge, r);
  CHECK(a.run(job) == a.silent + 1);  // those before it have said what is dirty
  CHECK_FALSE(job.ok());
  a.silent = ~0u;
  a.ssd[where(r, 0).ssd[1].value][0] = 'q';
  a.worn = true;
  repair vain = begin(a, repair_kind::converge, r);
  CHECK(a.run(vain) == 4 + 3);  // four asked, two read, one written
  CHECK_FALSE(vain.ok());
  a.gone = true;
  repair other = begin(a, repair_kind::fill, r, {.epoch = 2, .filling = 1}, 0);
  CHECK(a.run(other) == 2);  // one a volume
  CHECK(other.ok());
}

TEST_CASE("an SSD that joins is given its share: no more moves than 1/N and a twentieth") {
  wire::afa::volume_record r = described(1, 2);
  r.capacity_blocks = 40'000;
  r.ssd_count = 4;
  letters a(5);
  for (std::uint32_t b = 0; b < r.capacity_blocks; ++b) {
    const replica_set w = where(r, b);
    for (std::uint32_t k = 0; k < w.count; ++k) a.ssd[w.ssd[k].value][b] = char('a' + b % 26);
  }
  const std::vector<std::map<std::uint32_t, char>> before = a.ssd;
  repair job({1, repair_kind::spread, 1, 4}, {}, 5, {r, described(9)}, a.memory.data());
  for (std::uint32_t commands = 0; job.step(); ++commands) {
    REQUIRE(commands < 100'000);
    if (job.step()->what != repair_step::kind::read) CHECK(job.step()->ssd == 4);
    job.answered(a.serve(*job.step()));
  }
  CHECK(job.ok());
  const double share = 1.0 * job.mended() / (2.0 * r.capacity_blocks);
  MESSAGE("moved " << share << " of all replicas to the fifth SSD");
  CHECK(share < 1.05 / 5);
  CHECK(share > 0.95 / 5);
  CHECK(a.ssd[4].size() == job.mended());
  for (std::uint32_t k = 0; k < 4; ++k) CHECK(a.ssd[k] == before[k]);  // they drop it later
  for (std::uint32_t b = 0; b < r.capacity_blocks; ++b) {
    const replica_set w = rendezvous_placement(5).replicas(volume_id(1), r.hash_factor,
                                                           b / r.stripe_blocks, r.replicas);
    for (std::uint32_t k = 0; k < w.count; ++k)
      REQUIRE(a.ssd[w.ssd[k].value][b] == char('a' + b % 26));
  }
}

TEST_CASE("a share of which nobody has a sound replica is not moved") {
  wire::afa::volume_record r = described(1, 2);
  r.ssd_count = 4;
  const letters whole = written(r);
  std::uint32_t moves = 0;
  while (!rendezvous_placement(5).holds(volume_id(1), r.hash_factor, moves / r.stripe_blocks, 2,
                                        ssd_index(4)))
    moves += 3;
  for (const std::uint32_t bad : {1u, 2u}) {
    letters a = whole;
    a.ssd.resize(5);
    for (std::uint32_t k = 0; k < bad; ++k) a.ssd[where(r, moves).ssd[k].value][moves] = 'D';
    repair job({1, repair_kind::spread, 1, 4}, {}, 5, {r}, a.memory.data());
    a.run(job);
    CHECK(job.ok() == (bad == 1));
    CHECK(job.lost() == 0);
    if (bad == 1) CHECK(a.ssd[4][moves] == char('a' + moves % 26));
  }
  letters a = whole;
  a.ssd.resize(5);
  a.gone = true;  // the SSD that joins does not know the volume
  repair job({1, repair_kind::spread, 1, 4}, {}, 5, {r}, a.memory.data());
  a.run(job);
  CHECK_FALSE(job.ok());
}

namespace {

replica_set on_five(const wire::afa::volume_record& r, std::uint32_t block) {
  return rendezvous_placement(5).replicas(volume_id(r.vid), r.hash_factor, block / r.stripe_blocks,
                                          r.replicas);
}

}  // namespace

TEST_CASE("what the last SSD of a volume holds is given to the others, and nothing else moves") {
  for (const bool zeroes : {false, true}) {
    for (const std::uint64_t away : {0u, 1u << 1}) {
      CAPTURE(away);
      wire::afa::volume_record r = described(1, 2);
      r.capacity_blocks = 4'000;
      r.ssd_count = 5;
      letters a(5);
      const auto letter = [&](std::uint32_t b) {  // every third stripe was never written
        return b / r.stripe_blocks % 3 == 0 ? char(0) : char('a' + b % 26);
      };
      for (std::uint32_t b = 0; b < r.capacity_blocks; ++b) {
        const replica_set w = on_five(r, b);
        for (std::uint32_t k = 0; k < w.count; ++k)
          if (letter(b) != 0) a.ssd[w.ssd[k].value][b] = letter(b);
      }
      const auto last = a.ssd[4];
      daemon::repair_order order{1, repair_kind::drain, 1, 4};
      order.zeroes = zeroes;
      repair job(order, {.epoch = 1, .absent = away}, 5, {r, described(9)}, a.memory.data());
      std::set<std::pair<std::uint32_t, std::uint32_t>> given;
      for (std::uint32_t commands = 0; job.step(); ++commands) {
        REQUIRE(commands < 100'000);
        const daemon::repair_step p = *job.step();
        CHECK((away >> p.ssd & 1) == 0);
        for (std::uint32_t k = 0; k < p.blocks && p.what != repair_step::kind::read; ++k) {
          CHECK(p.what == repair_step::kind::write);
          given.insert({p.ssd, p.first.value + k});
        }
        job.answered(a.serve(p));
      }
      CHECK(job.ok() == (away == 0));
      if (away != 0) continue;  // an SSD would get less than it should have
      std::erase_if(a.ssd[4], [](const auto& block) { return block.second == 0; });
      CHECK(a.ssd[4] == last);
      for (std::uint32_t b = 0; b < r.capacity_blocks; ++b) {
        CAPTURE(b);
        const replica_set before = on_five(r, b);
        const replica_set then = rendezvous_placement(4).replicas(volume_id(1), r.hash_factor,
                                                                  b / r.stripe_blocks, r.replicas);
        for (std::uint32_t ssd = 0; ssd < 5; ++ssd) {
          const ssd_index s(static_cast<std::uint16_t>(ssd));
          const bool new_here = then.contains(s) && !before.contains(s);
          CHECK(given.contains({ssd, b}) == (new_here && (zeroes || letter(b) != 0)));
        }
      }
    }
  }
}

TEST_CASE("a share is not given on of which nobody has a sound replica") {
  wire::afa::volume_record r = described(1, 2);
  r.ssd_count = 5;
  letters a(5);
  std::uint32_t moves = 0;
  while (!on_five(r, moves).contains(ssd_index(4))) moves += r.stripe_blocks;
  for (const std::uint32_t bad : {1u, 2u}) {
    for (std::uint32_t k = 0; k < bad; ++k) a.ssd[on_five(r, moves).ssd[k].value][moves] = 'D';
    repair job({1, repair_kind::drain, 1, 4}, {}, 5, {r}, a.memory.data());
    a.run(job);
    CHECK(job.ok() == (bad == 1));
    CHECK(job.lost() == 0);
  }
}

namespace {

/// A volume that SSD 1 was away from: what it has is old where the others have changed it.
struct one_returns {
  explicit one_returns(std::uint16_t replicas) : r(described(1, replicas)), a(written(r)) {
    r.region_shift = 1;
    a.dirty.emplace(4);
  }
  /// The others have another letter in a block, and have marked that.
  void change(std::uint32_t block, char letter) {
    const replica_set w = where(r, block);
    for (std::uint32_t k = 0; k < w.count; ++k) {
      const std::uint32_t ssd = w.ssd[k].value;
      if (ssd == 1) continue;
      a.ssd[ssd][block] = letter;
      mark(ssd, block);
    }
  }
  void mark(std::uint32_t ssd, std::uint32_t block) {
    const std::uint32_t region = wire::afa::dirty_region_of(block / r.stripe_blocks, 1);
    (*a.dirty)[ssd].words[region / 32] |= 1u << region % 32;
  }
  repair begin(daemon::repair_order order, const daemon::membership& serving) {
    order.id = 1;
    order.ssd = 1;
    return {order, serving, 4, {r, described(9)}, a.memory.data()};
  }
  bool on_it(std::uint32_t block) const { return where(r, block).contains(ssd_index(1)); }
  std::uint64_t others_of(std::uint32_t block) const {
    std::uint64_t all = 0;
    const replica_set w = where(r, block);
    for (std::uint32_t k = 0; k < w.count; ++k) all |= std::uint64_t{1} << w.ssd[k].value;
    return all & ~std::uint64_t{2};
  }

  wire::afa::volume_record r;
  letters a;
};

}  // namespace

TEST_CASE("an SSD that is back forgets what any SSD has marked, and is given that alone") {
  one_returns v(2);
  for (const std::uint32_t b : {3u, 40u, 41u, 77u}) v.change(b, 'z');
  v.change(60, '\0');  // what others have deallocated
  v.mark(1, 20);       // where nobody knows whether others took what it did
  daemon::repair_order order{.kind = repair_kind::forget};
  order.kept = {{{1, {}}}, 2, 2};
  repair job = v.begin(order, {.epoch = 5, .absent = 2});
  REQUIRE(job.step());
  CHECK(job.step()->epoch == 5);
  (void)v.a.run(job);
  REQUIRE(job.ok());
  REQUIRE(job.forgotten().size() == 1);
  const wire::afa::dirty_regions said = job.forgotten().at(1);
  CHECK(said.version == wire::afa::payload_version);
  CHECK(said.holds(wire::afa::dirty_region_of(20 / 4, 1)));
  std::uint32_t kept = 0;
  for (std::uint32_t b = 0; b < 100; ++b) {
    CAPTURE(b);
    if (!v.on_it(b)) continue;
    const bool marked = said.holds(wire::afa::dirty_region_of(b / 4, 1));
    CHECK((v.a.ssd[1][b] == 0) == (marked || b % 3 != 0));
    kept += v.a.ssd[1][b] != 0 ? 1 : 0;
  }
  CHECK(kept > 5);

  // Asked again it loses only what is new, by the epochs in which the SSDs are then.
  v.change(90, 'y');
  order.kept.regions = job.forgotten();
  order.fenced = 6;
  repair again = v.begin(order, {.epoch = 5, .absent = 2});
  std::uint32_t forgets = 0;
  while (again.step()) {
    const daemon::repair_step p = *again.step();
    CHECK(p.epoch == (p.ssd == 1 ? 5 : 6));
    CHECK((p.what == repair_step::kind::forget) == (p.ssd == 1));
    if (p.what == repair_step::kind::forget) {
      ++forgets;
      CHECK(wire::afa::dirty_region_of(p.first.value / 4, 1) ==
            wire::afa::dirty_region_of(90 / 4, 1));
    }
    again.answered(v.a.serve(p));
  }
  CHECK(forgets > 0);
  CHECK(again.ok());

  daemon::repair_order fill{.kind = repair_kind::fill};
  fill.kept = {again.forgotten(), 2, 2};
  fill.left_out = {9};
  repair gives = v.begin(fill, {.epoch = 6, .filling = 2});
  std::uint32_t commands = 0;
  for (; gives.step(); ++commands) {
    const std::uint32_t region = wire::afa::dirty_region_of(gives.step()->first.value / 4, 1);
    CHECK(again.forgotten().at(1).holds(region));
    gives.answered(v.a.serve(*gives.step()));
  }
  CHECK(gives.ok());
  CHECK(commands > 4);
  for (std::uint32_t b = 0; b < 100; ++b) {
    CAPTURE(b);
    const replica_set w = where(v.r, b);
    if (v.on_it(b)) CHECK(v.a.ssd[1][b] == v.a.ssd[w.ssd[w.ssd[0].value == 1 ? 1 : 0].value][b]);
  }
}

TEST_CASE("what lies on an SSD that is back and on lost ones is its own, if they left together") {
  for (const std::uint32_t unmarked : {80u, 100u}) {
    CAPTURE(unmarked);
    one_returns v(2);
    // SSD 2 left with it, SSD 3 later.
    daemon::repair_order order{.kind = repair_kind::forget};
    order.kept = {{{1, {}}}, 0b0110, 0b1110};
    for (std::uint32_t b = 0; b < unmarked; b += 3) v.mark(1, b);
    repair job = v.begin(order, {.epoch = 5, .absent = 0b1110});
    (void)v.a.run(job);
    REQUIRE(job.ok());
    std::uint32_t seen[3] = {};
    for (std::uint32_t b = 0; b < 100; b += 3) {
      if (!v.on_it(b)) continue;
      CAPTURE(b);
      const std::uint64_t others = v.others_of(b);
      const bool judged = others == 0b0001;  // by who has been there all the time
      CHECK((v.a.ssd[1][b] != 0) == (others == 0b0100 || (judged && b >= unmarked)));
      ++seen[others == 0b0100 ? 0 : judged ? 1 : 2];
    }
    for (const std::uint32_t n : seen) CHECK(n > 0);

    daemon::repair_order fill{.kind = repair_kind::fill};
    fill.kept = {job.forgotten(), 0b0110, 0b1110};
    fill.left_out = {9};
    repair gives = v.begin(fill, {.epoch = 6, .absent = 0b1100, .filling = 2});
    (void)v.a.run(gives);
    CHECK(gives.ok());
    for (std::uint32_t b = 0; b < 100; b += 3) {
      if (!v.on_it(b)) continue;
      CAPTURE(b);
      // What only SSD 3 may have had reads as an error.
      const char before = char('a' + b % 26);
      CHECK(v.a.ssd[1][b] == (v.others_of(b) == 0b1000 ? 'X' : before));
    }
  }
}

TEST_CASE("a single replica is its own SSD's, whatever is marked") {
  one_returns v(1);
  daemon::repair_order order{.kind = repair_kind::forget};
  order.kept = {{{1, {}}}, 2, 0b1010};
  for (std::uint32_t b = 0; b < 100; b += 3) v.mark(1, b);
  repair job = v.begin(order, {.epoch = 5, .absent = 2});
  while (job.step()) {
    REQUIRE(job.step()->what == repair_step::kind::regions);
    job.answered(v.a.serve(*job.step()));
  }
  CHECK(job.ok());
  daemon::repair_order fill{.kind = repair_kind::fill};
  fill.kept = {job.forgotten(), 2, 0b1010};
  fill.left_out = {9};
  repair gives = v.begin(fill, {.epoch = 6, .filling = 2});
  CHECK_FALSE(gives.step());
  CHECK(gives.ok());
}

TEST_CASE("what was taken from an SSD is given by who is to be in sync first, never as an error") {
  one_returns v(2);
  v.change(40, 'z');
  REQUIRE(v.on_it(40));
  const auto other = static_cast<std::uint32_t>(std::countr_zero(v.others_of(40)));
  daemon::repair_order fill{.kind = repair_kind::fill};
  fill.kept = {{{1, (*v.a.dirty)[other]}}, 2, 2};
  fill.kept.regions.at(1).version = wire::afa::payload_version;
  v.a.ssd[1][40] = 0;
  repair early = v.begin(fill, {.epoch = 6, .filling = 2 | std::uint64_t{1} << other});
  (void)v.a.run(early);
  CHECK_FALSE(early.ok());
  CHECK(v.a.ssd[1][40] == 0);
  repair job = v.begin(fill, {.epoch = 7, .filling = 2});
  (void)v.a.run(job);
  CHECK(job.ok());
  CHECK(v.a.ssd[1][40] == 'z');
}

TEST_CASE("a volume that is gone is not kept, and an SSD that refuses ends the attempt") {
  one_returns v(2);
  daemon::repair_order order{.kind = repair_kind::forget};
  order.kept = {{{1, {}}, {9, {}}}, 2, 2};
  repair job = v.begin(order, {.epoch = 5, .absent = 2});
  while (job.step()) job.answered(job.step()->vid == 1 ? step_end::gone : v.a.serve(*job.step()));
  CHECK(job.ok());
  CHECK(job.forgotten().size() == 1);
  CHECK(job.forgotten().contains(9));
  for (const step_end how : {step_end::failed, step_end::damaged}) {
    one_returns other(2);
    other.change(40, 'z');
    repair refused = other.begin(order, {.epoch = 5, .absent = 2});
    while (refused.step() && refused.step()->what == repair_step::kind::regions)
      refused.answered(other.a.serve(*refused.step()));
    REQUIRE(refused.step());
    refused.answered(how);
    CHECK_FALSE(refused.step());
    CHECK_FALSE(refused.ok());
  }
}

TEST_CASE("an SSD forgets no further than it knows of a volume that has grown") {
  one_returns v(2);
  for (std::uint32_t b = 0; b < 100; ++b) v.mark(0, b);
  daemon::repair_order order{.kind = repair_kind::forget};
  order.kept = {{{1, {}}}, 2, 2};
  order.capacities = {{1, 58}};
  repair job = v.begin(order, {.epoch = 5, .absent = 2});
  std::uint32_t last = 0;
  while (job.step()) {
    if (job.step()->what == repair_step::kind::forget)
      last = job.step()->first.value + job.step()->blocks;
    job.answered(v.a.serve(*job.step()));
  }
  CHECK(job.ok());
  CHECK(last <= 58);
  CHECK(last > 40);
}
