/// Power cuts: at any store of any command, with DRAM gone and torn pages.
// label: thorough
// not under tsan: one lane works

#include "lost_ssd.hpp"
#include "power_model.hpp"

using namespace gnstor;
using namespace gnstor::test;

namespace {

bool cut(rig& r, const power_budget& budget = {}) {
  return power_model{}.cut(r.meta(), r.data.data(), budget);
}
struct power {
  void begin(rig&) {}
  void lose(rig& r) { REQUIRE(flash.cut(r.meta(), r.data.data())); }
  void rest(rig& r) {
    REQUIRE(fw::checkpoint(r.meta(), r.shape));
    flash.stopped(r.meta());
  }
  power_model flash;
};

using powered = lost_ssd<power>;
constexpr fw::geometry shape = powered::shape;
constexpr std::uint32_t capacity = powered::capacity;
constexpr std::uint32_t stripe = powered::stripe;

void deallocate(rig& r, std::uint16_t vid, std::uint32_t first, std::uint32_t blocks) {
  const fw::admission a = r.ssd().check(r.io(vid, first, blocks, true));
  REQUIRE(a.ok());
  REQUIRE(r.deallocate(a) == 0);
}

}  // namespace

TEST_CASE("power goes at any store of any command: what was done is there, and nothing else") {
  lives_lose_nothing<power>("cuts");
}

TEST_CASE(
    "a deallocated block does not come back, however long ago and whatever was erased since") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, capacity, stripe)) == 0);
  // Old pages of block 0 stay where nothing else is erased; then a journal's worth of others.
  for (std::uint64_t k = 1; k <= 3; ++k) REQUIRE(r.write(1, 0, 1, k) == 0);
  deallocate(r, 1, 0, 1);
  for (std::uint32_t k = 0; k < 3 * shape.trim_cells(); ++k) {
    const std::uint32_t block = 1 + k % (capacity - 1);
    REQUIRE(r.write(1, block, 1, 100 + k) == 0);
    deallocate(r, 1, block, 1);
    if (k % 16 == 0) {
      REQUIRE(cut(r));
      r.mount();
    }
    for (std::uint32_t b = 0; b < capacity; b += 5) REQUIRE(r.read(1, b) == 0);
  }
}

TEST_CASE(
    "nor does one that was moved first, and whose first page a reader keeps from being erased") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, capacity, stripe)) == 0);
  REQUIRE(r.write(1, 0, 1, 7) == 0);
  const fw::admission a = r.ssd().check(r.io(1, 0, 1, false));
  std::uint32_t pinned = 0;
  r.ssd().lookup(a, &pinned);
  std::uint32_t now = pinned;
  REQUIRE(r.ssd().volume_add(1, volume(2, 300, stripe)) == 0);
  for (std::uint32_t k = 0; now == pinned && k < 5000; ++k) {  // almost full: pages are moved
    for (std::uint32_t b = 0; b < shape.blocks(); ++b) {       // as passages of the journal do
      for (std::uint32_t s = 0; s < shape.shards; ++s)
        r.ssd().parts().flash<thread_scope_system>().write_down(s, b);
    }
    REQUIRE(r.write(2, mix32(k) % 300, 1, 100 + k) == 0);
    r.ssd().lookup(a, &now);
    r.ssd().unpin(now);
  }
  REQUIRE(now != pinned);
  deallocate(r, 1, 0, 1);
  for (std::uint32_t k = 0; k < 3 * shape.trim_cells(); ++k) {
    const std::uint32_t block = stripe + k % (capacity - stripe);
    REQUIRE(r.write(1, block, 1, 100 + k) == 0);
    deallocate(r, 1, block, 1);
  }
  REQUIRE(r.stamp(pinned) == 7);
  REQUIRE(cut(r));
  r.mount();
  CHECK(r.read(1, 0) == 0);
}

TEST_CASE("a kill at any store of a journal entry or a live record leaves the truth") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, capacity, stripe)) == 0);
  REQUIRE(r.write(1, 0, 8, 100) == 0);
  REQUIRE(r.write(1, 0, 4, 200) == 0);
  const std::vector<std::uint64_t> before = r.meta_words;
  deallocate(r, 1, 0, 8);
  const fw::layout at = fw::layout::of(shape);
  const auto base =
      static_cast<std::size_t>(static_cast<std::uint64_t*>(r.meta()) - r.meta_words.data());
  const std::vector<std::uint64_t> after = r.meta_words;
  // The entry's words, of which the last comes last: it is there when all are.
  std::vector<std::size_t> words;
  for (std::size_t w = at.trims(shape) / 8; w < at.bytes / 8; ++w) {
    if (before[base + w] != after[base + w]) words.push_back(base + w);
  }
  REQUIRE(words.size() == 3);
  for (const std::uint32_t stored : {0u, 1u, 2u, 3u, 7u}) {
    CAPTURE(stored);
    r.meta_words = before;
    for (std::uint32_t k = 0; k < 3; ++k) {
      if ((stored >> k & 1) != 0) r.meta_words[words[k]] = after[words[k]];
    }
    REQUIRE(cut(r));
    r.mount();
    for (std::uint32_t b = 0; b < 8; ++b)
      CHECK(r.read(1, b) == (stored == 7 ? 0 : b < 4 ? 200 + b : 100 + b));
  }
  // Records that are not complete yet.
  r.meta_words = after;
  const fw::metadata m = r.ssd().parts();
  const auto flash = m.flash<thread_scope_system>();
  for (std::uint32_t block = 0; block < shape.blocks(); ++block) {
    for (std::uint32_t s = 0; s < shape.shards; ++s) flash.write_down(s, block);
    flash.record(block).clear();
  }
  REQUIRE(cut(r));
  r.mount();
  for (std::uint32_t b = 0; b < 8; ++b) CHECK(r.read(1, b) == 0);
}

TEST_CASE("an SSD that loses power with more in its buffer than its capacitor can save says so") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, capacity, stripe)) == 0);
  REQUIRE(r.write(1, 0, 8, 100) == 0);
  REQUIRE(r.write(1, 0, 8, 200) == 0);
  power_budget budget;
  budget.buffered.resize(8);
  r.ssd().lookup(r.ssd().check(r.io(1, 0, 8, false)), budget.buffered.data());
  const std::vector<std::uint64_t> meta = r.meta_words;
  const std::vector<char> data = r.data;
  for (std::uint32_t pages = 0; pages <= 9; ++pages) {
    CAPTURE(pages);
    r.meta_words = meta;
    r.data = data;
    budget.pages = pages;
    CHECK(cut(r, budget) == (pages >= 8));
    r.mount();
    for (std::uint32_t b = 0; b < 8; ++b) {
      const std::uint64_t torn = ~std::uint64_t{0};
      CHECK(r.read(1, b) == (b < pages ? 200 + b : b == pages ? torn : 100 + b));
    }
  }
}
