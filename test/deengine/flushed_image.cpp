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
  flushed_rig() : rig(small) { begin(); }

  void begin() {
    image = std::make_unique<fw::metadata_image>(shape);
    kept.clear();
    header().flushes = {0, 0, 0, 0};
    flush();
  }
  fw::metadata_header& header() { return *static_cast<fw::metadata_header*>(meta()); }

  void flush() {
    const std::uint64_t number = header().flushes.begin();
    take();
    keep_data();
    header().flushes.end(number);
  }
  void take() {
    image->take(meta());
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
    mount();
    begin();
  }
  static char* at(std::vector<char>& all, std::uint32_t page) {
    const std::size_t end = (std::size_t{page} + 1) * block_bytes;
    if (all.size() < end) all.resize(end);
    return &all[end - block_bytes];
  }

  /// A write; with a Flush where it needs one.
  std::uint16_t write_with_flush(std::uint16_t vid, std::uint32_t first, std::uint32_t blocks,
                                 std::uint64_t stamp) {
    std::uint16_t status = write(vid, first, blocks, stamp);
    if (status == 0) return 0;
    ++refused;
    flush();
    return write(vid, first, blocks, stamp);
  }
  void deallocate_at(std::uint16_t vid, std::uint32_t first, std::uint32_t blocks) {
    const fw::admission a = ssd().check(io(vid, first, blocks, true));
    REQUIRE(a.ok());
    REQUIRE(deallocate(a) == 0);
  }

  std::unique_ptr<fw::metadata_image> image;
  std::vector<char> kept;  ///< metadata, as pages of a file; beyond its end there are zeroes
  std::vector<char> kept_data;
  std::uint32_t refused = 0;
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

TEST_CASE("a power cut leaves what the last Flush found, whatever was written since") {
  std::uint32_t moved = 0;
  std::uint32_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    flushed_rig r;
    REQUIRE(r.ssd().volume_add(1, volume(1, capacity, stripe)) == 0);
    REQUIRE(r.ssd().volume_add(1, volume(2, capacity, stripe)) == 0);
    r.flush();
    std::vector<std::uint64_t> now[2] = {std::vector<std::uint64_t>(capacity),
                                         std::vector<std::uint64_t>(capacity)};
    std::vector<std::uint64_t> flushed[2] = {now[0], now[1]};
    std::uint64_t stamp = 1;
    for (std::uint32_t cuts = 0; cuts < 40; ++cuts) {
      const auto ops = static_cast<std::uint32_t>(random() % 300);
      const std::uint32_t last_flush = static_cast<std::uint32_t>(random() % (ops + 1));
      for (std::uint32_t k = 0; k < ops; ++k) {
        const auto vid = static_cast<std::uint16_t>(1 + random() % 2);
        const range where(random);
        const bool drops = random() % 4 == 0;
        const std::uint32_t before = r.refused;
        if (drops) {
          r.deallocate_at(vid, where.first, where.blocks);
        } else {
          REQUIRE(r.write_with_flush(vid, where.first, where.blocks, stamp) == 0);
        }
        if (r.refused != before) {  // flushed before that write
          flushed[0] = now[0];
          flushed[1] = now[1];
        }
        for (std::uint32_t b = 0; b < where.blocks; ++b)
          now[vid - 1][where.first + b] = drops ? 0 : stamp + b;
        stamp += where.blocks;
        if (k != last_flush) continue;
        r.flush();
        flushed[0] = now[0];
        flushed[1] = now[1];
      }
      moved += static_cast<std::uint32_t>(r.ssd().moved_pages());
      r.cut(random);
      for (std::uint16_t vid = 1; vid <= 2; ++vid) {
        for (std::uint32_t b = 0; b < capacity; ++b) {
          CAPTURE(vid);
          CAPTURE(b);
          REQUIRE(r.read(vid, b) == flushed[vid - 1][b]);
        }
        now[vid - 1] = flushed[vid - 1];
      }
    }
    refused += r.refused;
  }
  CHECK(moved > 1000);
  CHECK(refused > 100);
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
      r.take();
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
