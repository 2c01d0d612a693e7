/// What a repair asks of the SSDs, and what is left when it is over.

#include "rig.hpp"
#include <daemon/repair.hpp>

#include <cstring>
#include <iterator>
#include <optional>
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
    if (p.what == repair_step::kind::regions) {
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
        case repair_step::kind::regions: break;
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
