/// Garbage collection: an SSD whose volumes hold all they can takes overwrites for ever.
// label: thorough
// not under tsan: one lane works

#include "../../benchmark/support/greedy_amplification.hpp"
#include "rig.hpp"
#include <deengine/flash_use.hpp>

#include <deque>
#include <random>
#include <string>

using namespace gnstor;
using namespace gnstor::test;
using wire::nvme::generic_status;

namespace {

/// Blocks of one SSD that are written at random; what each holds is known.
class overwritten {
 public:
  overwritten(const fw::geometry& g, std::uint32_t blocks, std::uint64_t seed = 1)
      : ssd(g), holds(blocks), random_(seed) {
    REQUIRE(ssd.ssd().volume_add(1, volume(1, blocks)) == 0);
    for (std::uint32_t b = 0; b < blocks; ++b) write(b);
  }
  void write(std::uint32_t b) {
    CAPTURE(b);
    REQUIRE(ssd.write(1, b, 1, ++stamp_) == 0);
    holds[b] = stamp_;
  }
  /// Writes blocks from `first` on, each as likely as any other.
  void write_some(std::uint32_t times, std::uint32_t first = 0) {
    const auto room = static_cast<std::uint32_t>(holds.size()) - first;
    for (std::uint32_t k = 0; k < times; ++k)
      write(first + static_cast<std::uint32_t>(random_() % room));
  }
  void verify() {
    for (std::uint32_t b = 0; b < holds.size(); ++b) {
      CAPTURE(b);
      REQUIRE(ssd.read(1, b) == holds[b]);
    }
  }
  void restart() {
    REQUIRE(fw::recover(ssd.meta(), ssd.meta_bytes(), ssd.shape, ssd.who) == fw::mount_status::ok);
  }
  /// Pages that garbage collection has moved since the start.
  std::uint64_t moved() {
    std::uint64_t sum = 0;
    for (std::uint32_t s = 0; s < ssd.shape.shards; ++s) sum += ssd.ssd().parts().shard(s).moved;
    return sum;
  }

  rig ssd;
  std::vector<std::uint64_t> holds;

 private:
  std::mt19937_64 random_;
  std::uint64_t stamp_ = 0;
};

const fw::geometry small{.pages = 1024, .shards = 1, .pages_per_block = 16, .max_volumes = 4};
const fw::geometry shared{.pages = 2048, .shards = 4, .pages_per_block = 8, .max_volumes = 4};

}  // namespace

TEST_CASE("random overwrites cost what greedy collection must cost, and keep every byte") {
  const fw::geometry shape{.pages = 16384, .shards = 1, .pages_per_block = 32, .max_volumes = 2};
  for (const double used : {0.7, 0.85, 0.95}) {
    CAPTURE(used);
    const auto blocks = static_cast<std::uint32_t>(shape.pages * used);
    overwritten o(shape, blocks);
    o.write_some(4 * blocks);
    const fw::shard_state& s = o.ssd.ssd().parts().shard(0);
    const std::uint64_t moved = s.moved;
    o.write_some(4 * blocks);
    const double measured = 1 + static_cast<double>(s.moved - moved) / (4 * blocks);
    // Pages of free blocks hold nothing that could be collected.
    const std::uint32_t idle = shape.few_blocks() * shape.pages_per_block;
    const double must = benchmarks::greedy_amplification(1.0 * blocks / (shape.pages - idle), 32);
    MESSAGE(std::to_string(used) << " used: " << measured << " pages per page, greedy " << must);
    CHECK(measured > 0.9 * must);
    CHECK(measured < 1.1 * must);
    o.verify();
  }
}

TEST_CASE("shards that lend each other blocks take overwrites of all that volumes can hold") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    const std::uint32_t held = 3 * shared.credit_step() * shared.shards;  // at most, by the others
    overwritten o(shared, shared.usable_pages() - held, seed);
    o.write_some(10'000);
    o.verify();
    CHECK(o.moved() > 0);
    o.restart();
    o.write_some(10'000);
    o.verify();
  }
}

TEST_CASE("an SSD says what is used and how worn it is, of few erase blocks and of many") {
  for (const fw::geometry& shape :
       {shared,
        fw::geometry{.pages = 6000 * 8, .shards = 4, .pages_per_block = 8, .max_volumes = 4}}) {
    const std::uint32_t held = 3 * shape.credit_step() * shape.shards;
    const std::uint32_t blocks = shape.usable_pages() - held;
    CAPTURE(blocks);
    overwritten o(shape, blocks);
    const fw::metadata meta = o.ssd.ssd().parts();
    const auto look = [&] {
      wire::afa::ssd_description said{};
      fw::look_at_flash<thread_scope_device>(meta, said);
      return said;
    };
    CHECK(look().usable_blocks == shape.usable_pages());
    CHECK(look().used_blocks >= blocks);
    CHECK(look().used_blocks <= blocks + held);
    CHECK(look().erase_blocks == shape.blocks());
    CHECK(look().erases == 0);
    CHECK(look().most_erases == 0);
    o.write_some(3 * blocks);
    std::uint64_t erases = 0;
    std::uint32_t most = 0;
    std::uint32_t least = ~0u;
    for (std::uint32_t b = 0; b < shape.blocks(); ++b) {
      erases += meta.blocks()[b].erases;
      most = std::max(most, meta.blocks()[b].erases);
      least = std::min(least, meta.blocks()[b].erases);
    }
    const wire::afa::ssd_description said = look();
    REQUIRE(said.seen_blocks <= fw::most_worn_seen);
    REQUIRE(said.seen_blocks >= std::min(shape.blocks(), fw::most_worn_seen / 2));
    const double all = static_cast<double>(said.erases) / said.seen_blocks * shape.blocks();
    CHECK(all > 0.9 * static_cast<double>(erases));
    CHECK(all < 1.1 * static_cast<double>(erases));
    CHECK(said.most_erases <= most);
    CHECK(said.least_erases >= least);
    if (said.seen_blocks == shape.blocks()) {
      CHECK(said.erases == erases);
      CHECK(said.most_erases == most);
      CHECK(said.least_erases == least);
    }
    REQUIRE(o.ssd.ssd().volume_delete(1, volume_id(1)) == 0);
    o.restart();  // what the volume held is dropped
    CHECK(look().used_blocks <= held);
    CHECK(look().erases >= said.erases);
  }
}

TEST_CASE("blocks to which writes are under way are collected when these have ended") {
  struct under_way {
    fw::admission a;
    std::uint32_t page = 0;
    std::uint64_t stamp = 0;
  };
  overwritten o(small, small.usable_pages() - 32);
  std::deque<under_way> writes;
  for (std::uint32_t turn = 0; turn < 600; ++turn) {
    CAPTURE(turn);
    const auto b = static_cast<std::uint32_t>(turn * 7 % o.holds.size());
    under_way w{.a = o.ssd.ssd().check(o.ssd.io(1, b, 1, true)), .stamp = 1'000'000 + turn};
    REQUIRE(o.ssd.take(w.a, &w.page) == 0);
    o.ssd.fill(w.page, w.stamp);
    writes.push_back(w);
    // What shares its block is overwritten meanwhile, so that it is soon the one to collect.
    for (std::uint32_t k = 0; k < 40; ++k) o.write((b + 1 + k % 5) % o.holds.size());
    if (writes.size() < 4) continue;
    w = writes.front();
    writes.pop_front();
    if (turn % 3 == 0) {
      o.ssd.ssd().abandon(w.a, &w.page);
    } else {
      REQUIRE(o.ssd.commit(w.a, &w.page) == 0);
      o.holds[w.a.first.value] = w.stamp;
    }
  }
  o.verify();
}

TEST_CASE("a process killed while pages are moved loses nothing") {
  overwritten o(small, small.usable_pages());
  for (int life = 0; life < 200; ++life) {
    o.write_some(50);
    // It dies between two pages of a victim.
    bool few = false;
    const fw::admission a = o.ssd.ssd().check(o.ssd.io(1, 0, 1, true));
    std::uint32_t page = 0;
    if (o.ssd.ssd().allocate(a, &page, few) == 0) o.ssd.ssd().abandon(a, &page);
    (void)o.ssd.ssd().collect(simt::group::warp(), 0, 1 + life % 16);
    o.restart();
    o.verify();
  }
}

TEST_CASE("of a page and its copy the copy counts, whoever was killed between them") {
  overwritten o(small, small.usable_pages());
  o.write_some(3000);
  const auto parts = o.ssd.ssd().parts();
  std::vector<std::uint32_t> before;
  for (std::uint32_t p = 0; p < small.pages; ++p) {
    if (parts.oob()[p].state == fw::page_state::valid) before.push_back(p);
  }
  const std::uint64_t moved = o.moved();
  std::uint32_t again = 0;
  for (int tries = 0; o.moved() == moved && tries < 1000; ++tries) {
    o.write_some(1);
    (void)o.ssd.ssd().collect(simt::group::warp(), 0, 1);
  }
  for (const std::uint32_t p : before) {
    fw::oob_entry& e = parts.oob()[p];
    if (e.state != fw::page_state::stale || e.sequence == 0) continue;
    e.state = fw::page_state::valid;  // as if that store had not been made
    ++again;
  }
  REQUIRE(again > 0);
  o.restart();
  o.verify();
}

TEST_CASE("pages of a deleted volume are dropped, not moved") {
  rig r(small);
  REQUIRE(r.ssd().volume_add(1, volume(1, 512)) == 0);
  REQUIRE(r.ssd().volume_add(1, volume(2, 512)) == 0);
  // Blocks of both in every erase block.
  for (std::uint32_t b = 0; b < 400; ++b) {
    REQUIRE(r.write(1, b, 1, 1000 + b) == 0);
    REQUIRE(r.write(2, b, 1, 2000 + b) == 0);
  }
  REQUIRE(r.ssd().volume_delete(1, volume_id(1)) == 0);
  // What is overwritten leaves blocks of the deleted volume's pages alone: these are collected.
  for (std::uint32_t b = 0; b < 400; ++b) REQUIRE(r.write(2, b, 1, 2000 + b) == 0);
  CHECK(r.ssd().parts().shard(0).mapped < 800);
  CHECK(r.ssd().parts().shard(0).swept == 0);
  CHECK(r.ssd().parts().shard(0).moved == 0);
  REQUIRE(r.ssd().volume_add(1, volume(3, 512)) == 0);
  for (std::uint32_t b = 0; b < 512; ++b) REQUIRE(r.write(3, b, 1, 3000 + b) == 0);
  for (std::uint32_t b = 0; b < 400; ++b) CHECK(r.read(2, b) == 2000 + b);
  for (std::uint32_t b = 0; b < 512; ++b) CHECK(r.read(3, b) == 3000 + b);
}

TEST_CASE("what a deleted volume held others may hold, again and again") {
  rig r(shared);
  const std::uint32_t blocks = shared.usable_pages() - 3 * shared.credit_step() * shared.shards;
  for (std::uint16_t round = 0; round < 6; ++round) {
    CAPTURE(round);
    REQUIRE(r.ssd().volume_add(1, volume(1, blocks)) == 0);
    for (std::uint32_t b = 0; b < blocks; ++b) {
      CAPTURE(b);
      REQUIRE(r.write(1, b, 1, 1000 * round + b) == 0);
    }
    CHECK(r.write(1, blocks - 1, 1, 7) == 0);
    CHECK(r.read(1, blocks / 2) == 1000 * round + blocks / 2);
    REQUIRE(r.ssd().volume_delete(1, volume_id(1)) == 0);
  }
}

TEST_CASE("blocks of data that nobody overwrites wear out with the others") {
  overwritten o(small, small.usable_pages());
  const std::uint32_t cold = small.usable_pages() / 2;
  o.write_some(150'000, cold);
  o.verify();
  std::uint32_t least = ~0u;
  std::uint32_t most = 0;
  for (std::uint32_t b = 0; b < small.blocks(); ++b) {
    const std::uint32_t erases = o.ssd.ssd().parts().blocks()[b].erases;
    least = std::min(least, erases);
    most = std::max(most, erases);
  }
  MESSAGE("blocks were erased " << least << " to " << most << " times");
  CHECK(least > 0);
  // The coldest blocks are looked for in turn, so that some wait for theirs.
  CHECK(most - least < most / 4);
}
