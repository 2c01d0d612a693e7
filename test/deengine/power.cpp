/// Power cuts: at any store of any command, with DRAM gone and torn pages.

#include "rig.hpp"
#include <deengine/power_cut.hpp>
#include <gnstor/simt_host/lone_lane.hpp>

#include <map>
#include <random>

using namespace gnstor;
using namespace gnstor::test;
using simt::host::lone_lane;

namespace {

/// Two shards whose blocks come back often, and journals that wrap.
const fw::geometry shape{.pages = 512, .shards = 2, .pages_per_block = 8, .max_volumes = 4};
constexpr std::uint32_t capacity = 96;
constexpr std::uint32_t stripe = 8;

void mount(rig& r) {
  REQUIRE(fw::recover(r.meta(), r.meta_bytes(), r.shape, r.who) == fw::mount_status::ok);
}
bool cut(rig& r, const fw::power_budget& budget = {}) {
  return fw::power_cut(r.meta(), r.shape, r.data.data(), budget);
}
void deallocate(rig& r, std::uint16_t vid, std::uint32_t first, std::uint32_t blocks) {
  const fw::admission a = r.ssd().check(r.io(vid, first, blocks, true));
  REQUIRE(a.ok());
  REQUIRE(r.deallocate(a) == 0);
}

/// An SSD whose power goes at any store, and what it must hold: a block under change when it went
/// may be as it was or as it was to be.
class powered {
 public:
  explicit powered(std::uint64_t seed) : random_(seed), ssd_(shape) {}

  void life(std::uint32_t steps) {
    for (std::uint32_t k = 0; k < steps; ++k) {
      pending_.clear();
      pending_add_ = pending_remove_ = 0;
      lane_.set_fuse(pick(12) == 0 ? 1 + pick(400) : 0);
      try {
        step();
      } catch (const lone_lane::fuse_blown&) {
        ++cuts_;
        go_on();
      }
      lane_.set_fuse(0);
    }
  }
  void verify() {
    for (std::uint16_t vid = 1; vid <= 3; ++vid) {
      REQUIRE(ssd_.ssd().check(ssd_.io(vid, 0, 1, false)).ok() == volumes_.contains(vid));
      for (std::uint32_t b = 0; volumes_.contains(vid) && b < capacity; ++b) {
        CAPTURE(vid);
        CAPTURE(b);
        REQUIRE(ssd_.read(vid, b) == expected(vid, b));
      }
    }
  }
  std::uint32_t cuts() const { return cuts_; }
  std::uint32_t undone() const { return undone_; }
  std::uint32_t done() const { return done_; }

 private:
  using place = std::pair<std::uint16_t, std::uint32_t>;

  std::uint32_t pick(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  std::uint64_t expected(std::uint16_t vid, std::uint32_t b) {
    const auto at = contents_.find({vid, b});
    return at == contents_.end() ? 0 : at->second;
  }
  /// Power comes back: what was under way is decided by what is there.
  void go_on() {
    lane_.set_fuse(0);
    REQUIRE(cut(ssd_));
    mount(ssd_);
    if (pick(4) == 0) {  // stopped in order, and power goes then
      REQUIRE(fw::checkpoint(ssd_.meta(), shape));
      REQUIRE(cut(ssd_));
      mount(ssd_);
    }
    if (pick(3) == 0) {  // power goes while the SSD is mounted
      lane_.set_fuse(1 + pick(2000));
      try {
        (void)fw::recover(ssd_.meta(), ssd_.meta_bytes(), shape, ssd_.who);
      } catch (const lone_lane::fuse_blown&) {
      }
      lane_.set_fuse(0);
      REQUIRE(cut(ssd_));
      mount(ssd_);
    }
    if (pending_add_ != 0 && ssd_.ssd().check(ssd_.io(pending_add_, 0, 1, false)).ok())
      volumes_.insert({pending_add_, true});
    if (pending_remove_ != 0 && !ssd_.ssd().check(ssd_.io(pending_remove_, 0, 1, false)).ok())
      forget(pending_remove_);
    for (const auto& [where, stamp] : pending_) {
      if (!volumes_.contains(where.first)) continue;
      const std::uint64_t found = ssd_.read(where.first, where.second);
      const std::uint64_t before = expected(where.first, where.second);
      CAPTURE(where.second);
      REQUIRE((found == stamp || found == before));
      (found == stamp ? done_ : undone_) += 1;
      contents_[where] = found;
    }
    verify();
  }
  void forget(std::uint16_t vid) {
    volumes_.erase(vid);
    contents_.erase(contents_.lower_bound({vid, 0}), contents_.upper_bound({vid, ~0u}));
  }

  /// Not called within doctest's macros, which would catch the fuse.
  static void must_be_done(std::uint16_t status) { REQUIRE(status == 0); }

  void step() {
    const auto vid = static_cast<std::uint16_t>(1 + pick(3));
    if (!volumes_.contains(vid)) {
      pending_add_ = vid;
      must_be_done(ssd_.ssd().volume_add(1, volume(vid, capacity, stripe)));
      volumes_.insert({vid, true});
      return;
    }
    if (pick(100) == 0) {
      pending_remove_ = vid;
      must_be_done(ssd_.ssd().volume_delete(1, volume_id(vid)));
      forget(vid);
      return;
    }
    if (pick(10) == 0) return void(ssd_.ssd().tend(pick(shape.shards), pick(40)));
    const std::uint32_t first = pick(capacity);
    const std::uint32_t blocks = 1 + pick(stripe - first % stripe);
    if (pick(4) == 0) {
      for (std::uint32_t k = 0; k < blocks; ++k) pending_[{vid, first + k}] = 0;
      const fw::admission a = ssd_.ssd().check(ssd_.io(vid, first, blocks, true));
      must_be_done(a.status);
      must_be_done(ssd_.deallocate(a));
    } else {
      for (std::uint32_t k = 0; k < blocks; ++k) pending_[{vid, first + k}] = stamp_ + 1 + k;
      const std::uint64_t from = stamp_ + 1;
      stamp_ += blocks;
      must_be_done(ssd_.write(vid, first, blocks, from));
    }
    for (const auto& [where, stamp] : pending_) contents_[where] = stamp;
  }

  std::mt19937_64 random_;
  lone_lane lane_;
  rig ssd_;
  std::map<std::uint16_t, bool> volumes_;
  std::map<place, std::uint64_t> contents_;
  std::map<place, std::uint64_t> pending_;  ///< what the command under way makes of blocks
  std::uint16_t pending_add_ = 0;
  std::uint16_t pending_remove_ = 0;
  std::uint64_t stamp_ = 0;
  std::uint32_t cuts_ = 0;
  std::uint32_t undone_ = 0;
  std::uint32_t done_ = 0;
};

}  // namespace

TEST_CASE("power goes at any store of any command: what was done is there, and nothing else") {
  std::uint32_t cuts = 0;
  std::uint32_t undone = 0;
  std::uint32_t done = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    powered p(seed);
    p.life(2000);
    p.verify();
    cuts += p.cuts();
    undone += p.undone();
    done += p.done();
  }
  CHECK(cuts > 1000);
  CHECK(undone > 500);
  CHECK(done > 100);  // cuts between the stores of several blocks, or behind the last
  MESSAGE(cuts << " cuts, blocks under way as before " << undone << ", as after " << done);
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
      mount(r);
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
  mount(r);
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
  // The entry's words, in order and then in any order: it is there when all are.
  std::vector<std::size_t> words;
  for (std::size_t w = at.trims(shape) / 8; w < at.bytes / 8; ++w) {
    if (before[base + w] != after[base + w]) words.push_back(base + w);
  }
  REQUIRE(words.size() == 3);
  for (std::uint32_t stored = 0; stored < 8; ++stored) {
    CAPTURE(stored);
    r.meta_words = before;
    for (std::uint32_t k = 0; k < 3; ++k) {
      if ((stored >> k & 1) != 0) r.meta_words[words[k]] = after[words[k]];
    }
    REQUIRE(cut(r));
    mount(r);
    for (std::uint32_t b = 0; b < 8; ++b)
      CHECK(r.read(1, b) == (stored == 7 ? 0 : b < 4 ? 200 + b : 100 + b));
  }
  // A record whose pages are written down, but not yet since when.
  r.meta_words = after;
  const fw::metadata m = r.ssd().parts();
  const auto flash = m.flash<thread_scope_system>();
  for (std::uint32_t block = 0; block < shape.blocks(); ++block) {
    for (std::uint32_t s = 0; s < shape.shards; ++s) flash.write_down(s, block);
    m.records()[std::uint64_t{block} * fw::live_record::words_for(shape.pages_per_block)] = 0;
  }
  REQUIRE(cut(r));
  mount(r);
  for (std::uint32_t b = 0; b < 8; ++b) CHECK(r.read(1, b) == 0);
}

TEST_CASE("an SSD that loses power with more in its buffer than its capacitor can save says so") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, capacity, stripe)) == 0);
  REQUIRE(r.write(1, 0, 8, 100) == 0);
  REQUIRE(r.write(1, 0, 8, 200) == 0);
  fw::power_budget budget;
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
    mount(r);
    for (std::uint32_t b = 0; b < 8; ++b) CHECK(r.read(1, b) == (b < pages ? 200 + b : 100 + b));
  }
}
