/// Random histories of one SSD against a plain map, with restarts in the middle.
// label: thorough
// not under tsan: one lane works

#include "rig.hpp"

#include <deque>
#include <map>
#include <random>

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::status;
using wire::nvme::generic_status;

namespace {

const fw::geometry shape{.pages = 768, .shards = 4, .pages_per_block = 8, .max_volumes = 4};
constexpr std::uint32_t capacity = 160;

/// A command between its first and its last step.
struct pending {
  fw::admission a;
  std::vector<std::uint32_t> pages;
  std::vector<std::uint64_t> stamps;
  bool write = false;
};

/// The SSD, and the contents it must have: [VID, VBA] to stamp.
class history {
 public:
  explicit history(std::uint64_t seed) : random_(seed), ssd_(shape) {}

  void step() {
    switch (pick(20)) {
      case 0: return add();
      case 1: return pick(4) == 0 ? remove() : void();
      case 2: return deallocate();
      case 3: return void(ssd_.ssd().tend(pick(shape.shards), pick(40)));
      case 4: return pick(10) == 0 ? restart() : void();
      case 5:
      case 6:
      case 7: return begin_read();
      case 8:
      case 9:
      case 10: return finish();
      default: return begin_write();
    }
  }
  void settle() {
    while (!open_.empty()) finish();
  }
  /// Every block of every volume.
  void verify() {
    for (std::uint16_t vid = 1; vid <= 5; ++vid) {
      const bool exists = volumes_.count(vid) != 0;
      REQUIRE(ssd_.ssd().check(ssd_.io(vid, 0, 1, false)).ok() == exists);
      for (std::uint32_t b = 0; exists && b < capacity; ++b) {
        CAPTURE(vid);
        CAPTURE(b);
        REQUIRE(ssd_.read(vid, b) == expected(vid, b));
      }
    }
  }
  std::uint32_t refused() const { return refused_; }

  /// A stop and a new start: everything is where it was, and no page is lost.
  void restart() {
    settle();
    ssd_.tend();
    const auto before = pages();
    const std::uint32_t free_before = ssd_.free_pages();
    REQUIRE(fw::recover(ssd_.meta(), ssd_.meta_bytes(), shape, ssd_.who) == fw::mount_status::ok);
    REQUIRE(pages() == before);
    REQUIRE(ssd_.free_pages() >= free_before);
  }

 private:
  std::uint32_t pick(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  std::uint64_t expected(std::uint16_t vid, std::uint32_t b) {
    const auto at = contents_.find({vid, b});
    return at == contents_.end() ? 0 : at->second;
  }
  /// The page of every block of every volume, and what each block's live count and shard must be.
  std::vector<std::uint32_t> pages() {
    std::vector<std::uint32_t> all;
    for (const auto& [vid, stripe] : volumes_) {
      for (std::uint32_t b = 0; b < capacity; ++b) {
        std::uint32_t page = 0;
        ssd_.ssd().lookup(ssd_.ssd().check(ssd_.io(vid, b, 1, false)), &page);
        if (page != engine::no_page) ssd_.ssd().unpin(page);
        all.push_back(page);
      }
    }
    const fw::metadata m = ssd_.ssd().parts();
    for (std::uint32_t b = 0; b < shape.blocks(); ++b) all.push_back(m.blocks()[b].live);
    for (std::uint32_t s = 0; s < shape.shards; ++s) all.push_back(m.shard(s).mapped);
    return all;
  }

  /// Up to a stripe of some volume that exists.
  fw::admission some_extent(bool write) {
    fw::admission none;
    none.status = 1;
    if (volumes_.empty()) return none;
    auto at = volumes_.begin();
    std::advance(at, pick(static_cast<std::uint32_t>(volumes_.size())));
    const std::uint32_t stripe = at->second;
    const std::uint32_t first = pick(capacity);
    const std::uint32_t room = std::min(stripe - first % stripe, capacity - first);
    const fw::admission a = ssd_.ssd().check(ssd_.io(at->first, first, 1 + pick(room), write));
    REQUIRE(a.ok());
    return a;
  }

  void add() {
    const auto vid = static_cast<std::uint16_t>(1 + pick(5));
    const std::uint32_t stripe = std::uint32_t{1} << pick(5);
    const std::uint16_t answer = ssd_.ssd().volume_add(1, volume(vid, capacity, stripe));
    if (volumes_.count(vid) != 0) {
      REQUIRE(answer == (volumes_[vid] == stripe ? 0 : afa(status::volume_exists)));
    } else if (volumes_.size() == shape.max_volumes) {
      REQUIRE(answer == afa(status::too_many_volumes));
    } else {
      REQUIRE(answer == 0);
      volumes_[vid] = stripe;
    }
  }
  void remove() {
    const auto vid = static_cast<std::uint16_t>(1 + pick(5));
    const bool exists = volumes_.erase(vid) != 0;
    REQUIRE(ssd_.ssd().volume_delete(1, volume_id(vid)) ==
            (exists ? 0 : afa(status::unknown_volume)));
    contents_.erase(contents_.lower_bound({vid, 0}), contents_.upper_bound({vid, ~0u}));
  }
  void deallocate() {
    const fw::admission a = some_extent(true);
    if (!a.ok()) return;
    (void)ssd_.deallocate(a);
    for (std::uint32_t k = 0; k < a.blocks; ++k) contents_.erase({a.vid.value, a.first.value + k});
  }
  void begin_read() {
    pending p{.a = some_extent(false), .pages = {}, .stamps = {}};
    if (!p.a.ok()) return;
    p.pages.resize(p.a.blocks);
    ssd_.ssd().lookup(p.a, p.pages.data());
    for (std::uint32_t k = 0; k < p.a.blocks; ++k)
      p.stamps.push_back(expected(p.a.vid.value, p.a.first.value + k));
    open_.push_back(p);
  }
  void begin_write() {
    pending p{.a = some_extent(true), .pages = {}, .stamps = {}, .write = true};
    if (!p.a.ok()) return;
    p.pages.resize(p.a.blocks);
    const std::uint16_t answer = ssd_.take(p.a, p.pages.data());
    if (answer != 0) {
      REQUIRE(answer == generic(generic_status::capacity_exceeded));
      ++refused_;
      return;
    }
    for (std::uint32_t k = 0; k < p.a.blocks; ++k) {
      p.stamps.push_back(++stamp_);
      ssd_.fill(p.pages[k], stamp_);
    }
    open_.push_back(p);
  }
  /// Ends any open command: a read finds the bytes of its look-up, whatever was written since.
  void finish() {
    if (open_.empty()) return;
    const std::uint32_t which = pick(static_cast<std::uint32_t>(open_.size()));
    const pending p = open_[which];
    open_.erase(open_.begin() + which);
    if (!p.write) {
      for (std::uint32_t k = 0; k < p.a.blocks; ++k) {
        REQUIRE(ssd_.stamp(p.pages[k]) == p.stamps[k]);
        if (p.pages[k] != engine::no_page) ssd_.ssd().unpin(p.pages[k]);
      }
      return;
    }
    if (pick(8) == 0) return ssd_.ssd().abandon(p.a, p.pages.data());
    const std::uint16_t answer = ssd_.commit(p.a, p.pages.data());
    const bool same =
        volumes_.count(p.a.vid.value) != 0 &&
        ssd_.ssd().check(ssd_.io(p.a.vid.value, 0, 1, false)).generation == p.a.generation;
    REQUIRE(answer == (same ? 0 : afa(status::unknown_volume)));
    for (std::uint32_t k = 0; same && k < p.a.blocks; ++k) {
      contents_[{p.a.vid.value, p.a.first.value + k}] = p.stamps[k];
    }
  }

  std::mt19937_64 random_;
  rig ssd_;
  std::map<std::uint16_t, std::uint32_t> volumes_;
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::uint64_t> contents_;
  std::deque<pending> open_;
  std::uint64_t stamp_ = 0;
  std::uint32_t refused_ = 0;
};

}  // namespace

TEST_CASE("an SSD holds what a plain map holds, over random histories with restarts") {
  std::uint32_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    history h(seed);
    for (int step = 1; step <= 3000; ++step) {
      h.step();
      if (step % 500 == 0) h.verify();
    }
    h.restart();
    h.verify();
    refused += h.refused();
  }
  CHECK(refused > 0);  // some histories must meet the full device
}
