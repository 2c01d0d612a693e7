/// What a Flush finds of an SSD that goes on, and what a power cut leaves of it.
#include "rig.hpp"
#include "under_tsan.hpp"
#include <deengine/metadata_image.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// Two shards whose blocks come back often, and journals that wrap.
constexpr fw::geometry small{.pages = 512, .shards = 2, .pages_per_block = 8, .max_volumes = 4};
constexpr std::uint32_t capacity = 150;
constexpr std::uint32_t stripe = 8;

/// An SSD on a disk that has of each page what it was at the last Flush or later. Blocks wait for
/// Flushes.
struct flushed_rig : rig {
  explicit flushed_rig(const fw::geometry& g = small) : rig(g) { begin(); }

  void begin() {
    image = std::make_unique<fw::metadata_image>(shape);
    kept.clear();
    header().flushes = {0, 0, 0, 0};
    flush();
  }
  fw::metadata_header& header() { return *static_cast<fw::metadata_header*>(meta()); }

  void flush() {
    const std::uint64_t number = header().flushes.begin();
    take([] {});
    keep_data();
    header().flushes.end(number);
  }
  template <class Between>
  void take(const Between& between) {
    image->take(meta(), between);
    for (const std::uint32_t page : image->changed())
      std::memcpy(at(kept, page), image->data() + std::uint64_t{page} * block_bytes, block_bytes);
    image->settle();
  }
  void keep_data() { kept_data = data; }
  /// The power goes, and comes again.
  void cut(std::mt19937_64& random) {
    for (std::uint32_t page = 0; page < shape.pages; ++page) {
      if (random() % 2 == 0) continue;  // the kernel has written it meanwhile
      const std::size_t from = std::size_t{page} * block_bytes;
      std::memcpy(&data[from], &kept_data[from], block_bytes);
    }
    fw::metadata_image then(shape);
    std::memcpy(then.data(), kept.data(), std::min<std::size_t>(kept.size(), then.bytes()));
    std::memset(static_cast<char*>(meta()) + sizeof(fw::metadata_header), 0xA5,
                meta_bytes() - sizeof(fw::metadata_header));
    then.give(meta());
    who.was_copied = true;
    mount();
    begin();
  }
  static char* at(std::vector<char>& all, std::uint32_t page) {
    const std::size_t end = (std::size_t{page} + 1) * block_bytes;
    if (all.size() < end) all.resize(end);
    return &all[end - block_bytes];
  }

  void deallocate_at(std::uint16_t vid, std::uint32_t first, std::uint32_t blocks) {
    const fw::admission a = ssd().check(io(vid, first, blocks, true));
    REQUIRE(a.ok());
    REQUIRE(deallocate(a) == 0);
  }

  std::unique_ptr<fw::metadata_image> image;
  std::vector<char> kept;  ///< metadata, as pages of a file; beyond its end there are zeroes
  std::vector<char> kept_data;
};

/// The first block and the length of something within a stripe.
struct range {
  explicit range(std::mt19937_64& random)
      : first(static_cast<std::uint32_t>(random() % capacity)),
        blocks(1 + static_cast<std::uint32_t>(
                       random() % std::min(stripe - first % stripe, capacity - first))) {}
  std::uint32_t first;
  std::uint32_t blocks;
};

}  // namespace

namespace {

/// Two volumes that are written, deallocated and flushed, and what their blocks have held.
class written_volumes {
 public:
  explicit written_volumes(std::uint64_t seed) : random_(seed) {
    REQUIRE(ssd_.ssd().volume_add(1, volume(1, capacity, stripe)) == 0);
    REQUIRE(ssd_.ssd().volume_add(1, volume(2, capacity, stripe)) == 0);
    for (auto& of : held_) of.assign(capacity, {0});
    flush();
  }
  void change(std::uint32_t times) {
    for (std::uint32_t k = 0; k < times; ++k) change_one(true);
  }
  /// @param beside changes that are made while it goes on
  void flush(std::uint32_t beside = 0) {
    for (int v = 0; v < 2; ++v) {
      least_[v].clear();
      for (const auto& of : held_[v]) least_[v].push_back(of.size() - 1);
    }
    const std::uint64_t number = ssd_.header().flushes.begin();
    ssd_.take([&] {
      for (std::uint64_t k = beside == 0 ? 0 : random_() % beside; k != 0; --k) change_one(false);
    });
    most_[0] = held_[0];
    most_[1] = held_[1];
    ssd_.keep_data();
    ssd_.header().flushes.end(number);
  }
  void cut_power() {
    moved += ssd_.ssd().moved_pages();
    ssd_.cut(random_);
    for (std::uint16_t v = 0; v < 2; ++v) {
      for (std::uint32_t b = 0; b < capacity; ++b) {
        CAPTURE(v);
        CAPTURE(b);
        const std::uint64_t found = ssd_.read(static_cast<std::uint16_t>(v + 1), b);
        const auto& may = most_[v][b];
        const auto first = may.begin() + static_cast<std::ptrdiff_t>(least_[v][b]);
        REQUIRE(std::find(first, may.end(), found) != may.end());
        held_[v][b] = {found};
      }
    }
    flush();
  }
  std::uint32_t drawn(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  std::uint64_t moved = 0;
  std::uint32_t refused = 0;  ///< writes, until a Flush

 private:
  void change_one(bool may_flush) {
    const auto vid = static_cast<std::uint16_t>(1 + random_() % 2);
    const range where(random_);
    const bool drops = random_() % 3 == 0;
    if (drops) {
      ssd_.deallocate_at(vid, where.first, where.blocks);
    } else if (ssd_.write(vid, where.first, where.blocks, stamp_) != 0) {
      if (!may_flush) return;
      ++refused;
      flush();
      REQUIRE(ssd_.write(vid, where.first, where.blocks, stamp_) == 0);
    }
    for (std::uint32_t b = 0; b < where.blocks; ++b)
      held_[vid - 1][where.first + b].push_back(drops ? 0 : stamp_ + b);
    stamp_ += where.blocks;
  }

  std::mt19937_64 random_;
  flushed_rig ssd_;
  std::uint64_t stamp_ = 1;
  std::vector<std::vector<std::uint64_t>> held_[2];  ///< by block, since the last cut
  std::vector<std::vector<std::uint64_t>> most_[2];  ///< until the last Flush had ended
  std::vector<std::size_t> least_[2];                ///< what it held when that began
};

}  // namespace

TEST_CASE("a power cut leaves what the last Flush found, whatever was written since") {
  for (const std::uint32_t beside : {0, 12}) {  // and while it looked
    CAPTURE(beside);
    std::uint64_t moved = 0;
    std::uint32_t refused = 0;
    for (std::uint64_t seed = 1; seed <= (under_tsan ? 2 : 12); ++seed) {
      CAPTURE(seed);
      written_volumes v(seed);
      for (std::uint32_t cuts = 0; cuts < 40; ++cuts) {
        v.change(v.drawn(200));
        v.flush(beside);
        v.change(v.drawn(200));
        v.cut_power();
      }
      moved += v.moved;
      refused += v.refused;
    }
    CHECK(moved > (under_tsan ? 100 : 1000));
    CHECK(refused > (under_tsan ? 10 : 100));
  }
}

TEST_CASE("a block that is deallocated while a Flush looks is as it was flushed, or unwritten") {
  flushed_rig r({.pages = 512, .shards = 1, .pages_per_block = 8, .max_volumes = 4});
  REQUIRE(r.ssd().volume_add(1, volume(1, capacity, stripe)) == 0);
  REQUIRE(r.write(1, 0, 1, 100) == 0);  // in erase block 0
  for (std::uint32_t b = 8; b < 40; ++b) REQUIRE(r.write(1, b, 1, b) == 0);
  r.deallocate_at(1, 8, 1);             // writes down what erase block 0 holds
  REQUIRE(r.write(1, 0, 1, 200) == 0);  // in another one
  r.flush();
  const std::uint64_t number = r.header().flushes.begin();
  int part = 0;
  r.take([&] {
    if (++part != 2) return;  // between the trim journals and the live records
    r.deallocate_at(1, 0, 1);
    for (std::uint32_t b = 9; b < 40; ++b) r.deallocate_at(1, b, 1);  // down to that other one
  });
  REQUIRE(part > 2);
  r.keep_data();
  r.header().flushes.end(number);
  std::mt19937_64 random(1);
  r.cut(random);
  const std::uint64_t found = r.read(1, 0);
  CHECK((found == 200 || found == 0));
}

TEST_CASE("volumes and epochs are what they were at the last Flush") {
  std::mt19937_64 random(7);
  flushed_rig r;
  REQUIRE(r.ssd().volume_add(1, volume(1, capacity, stripe)) == 0);
  REQUIRE(r.write(1, 0, 8, 10) == 0);
  r.flush();
  REQUIRE(r.ssd().volume_delete(1, volume_id(1)) == 0);
  REQUIRE(r.ssd().volume_add(1, volume(2, capacity, stripe)) == 0);
  for (std::uint64_t k = 0; k < 400; ++k) {
    if (r.write(2, 0, 8, 100 * k) != 0) break;
  }
  r.tend();
  r.cut(random);
  CHECK_FALSE(r.ssd().check(r.io(2, 0, 1, false)).ok());
  for (std::uint32_t b = 0; b < 8; ++b) CHECK(r.read(1, b) == 10 + b);

  wire::afa::array_membership next{};
  next.version = wire::afa::payload_version;
  next.epoch = 2;
  REQUIRE(r.ssd().array_update(next) == 0);
  r.flush();
  next.epoch = 3;
  REQUIRE(r.ssd().array_update(next) == 0);
  r.cut(random);
  CHECK(r.ssd().epoch() == 2);
}

TEST_CASE("a Flush beside a writer finds all that was done before it, and nothing torn") {
  const std::uint32_t cuts = under_tsan ? 50 : 500;
  std::mt19937_64 random(3);
  flushed_rig r;
  REQUIRE(r.ssd().volume_add(1, volume(1, capacity, stripe)) == 0);
  r.flush();
  std::vector<std::vector<std::uint64_t>> history(capacity, {0});  // of each block
  for (std::uint32_t round = 0; round < cuts; ++round) {
    CAPTURE(round);
    std::mutex guard;  // of the data, and of `history`
    std::atomic<bool> over{false};
    std::uint64_t stamp = std::uint64_t{round + 1} << 32;
    std::thread writer([&, seed = random()] {
      std::mt19937_64 mine(seed);
      while (!over) {
        std::this_thread::yield();  // or nobody else ever has the lock
        const range where(mine);
        const bool drops = mine() % 4 == 0;
        const std::lock_guard lock(guard);
        for (std::uint32_t b = 0; b < where.blocks; ++b)
          history[where.first + b].push_back(drops ? 0 : stamp + b);
        if (drops) {
          r.deallocate_at(1, where.first, where.blocks);
        } else if (r.write(1, where.first, where.blocks, stamp) != 0) {
          for (std::uint32_t b = 0; b < where.blocks; ++b) history[where.first + b].pop_back();
        }
        stamp += where.blocks;
      }
    });
    std::vector<std::size_t> least(capacity);
    for (int flushes = 0; flushes < 4; ++flushes) {
      for (std::uint32_t k = 0; k < random() % 64; ++k) std::this_thread::yield();
      {
        const std::lock_guard lock(guard);
        for (std::uint32_t b = 0; b < capacity; ++b) least[b] = history[b].size() - 1;
      }
      const std::uint64_t number = r.header().flushes.begin();
      r.take([] {});
      const std::lock_guard lock(guard);
      r.keep_data();
      r.header().flushes.end(number);
    }
    std::vector<std::vector<std::uint64_t>> may;
    {
      const std::lock_guard lock(guard);
      may = history;
    }
    over = true;
    writer.join();
    r.cut(random);
    for (std::uint32_t b = 0; b < capacity; ++b) {
      CAPTURE(b);
      const std::uint64_t found = r.read(1, b);
      const auto first = may[b].begin() + static_cast<std::ptrdiff_t>(least[b]);
      REQUIRE(std::find(first, may[b].end(), found) != may[b].end());
      history[b] = {found};
    }
  }
}
