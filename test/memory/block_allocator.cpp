/// The allocator by one thread: against a model of a byte map, and case by case.
#include "pool_fixture.hpp"
#include <gnstor/core/assert.hpp>
#include <gnstor/memory/block_allocator.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using usual = block_allocator<thread_scope_device>;
using narrow = block_allocator<thread_scope_device, levels<4096, 16384, 65536>>;
using two_levels = block_allocator<thread_scope_system, levels<512, 16384>>;
using one_level = block_allocator<thread_scope_block, levels<8192>>;

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

status_code refusal(const result<extent>& answer) {
  CHECK_FALSE(answer);
  return answer.status.code;
}

/// Whether a release is refused: by a status, or by the assertion of a debug build.
template <class Allocator>
bool refuses(const Allocator& allocator, extent part) {
  try {
    return allocator.release(part).code == status_code::invalid_argument;
  } catch (const verify_error&) {
    return true;
  }
}

/// The pool as a map of smallest blocks, and the rule by which a request must be granted.
class model {
 public:
  model(std::vector<std::uint64_t> sizes, std::uint64_t pool_bytes)
      : sizes_(std::move(sizes)), used_(pool_bytes / sizes_[0]) {}

  /// The level that serves a request, and how many of its blocks.
  std::pair<std::size_t, std::uint64_t> shape(std::uint64_t bytes) const {
    std::size_t level = 0;
    const auto count = [&] { return (bytes + sizes_[level] - 1) / sizes_[level]; };
    while (level + 1 < sizes_.size() && count() * sizes_[level] >= sizes_[level + 1]) ++level;
    return {level, count()};
  }
  std::uint64_t granted_bytes(std::uint64_t bytes) const {
    const auto [level, count] = shape(bytes);
    return count * sizes_[level];
  }
  /// Whether a free run exists: within one block of the next level, at the top within 32 blocks.
  bool can_grant(std::uint64_t bytes) const {
    const auto [level, count] = shape(bytes);
    const std::uint64_t size = sizes_[level];
    const std::uint64_t frame = level + 1 < sizes_.size() ? sizes_[level + 1] : 32 * size;
    for (std::uint64_t at = 0; (at + count * size) / sizes_[0] <= used_.size(); at += size) {
      if (at / frame == (at + count * size - 1) / frame && is_free(at, count * size)) return true;
    }
    return false;
  }
  bool is_aligned(extent part) const { return part.offset % sizes_[shape(part.bytes).first] == 0; }
  bool is_free(std::uint64_t offset, std::uint64_t bytes) const {
    const auto first = used_.begin() + static_cast<std::ptrdiff_t>(offset / sizes_[0]);
    return std::none_of(first, first + static_cast<std::ptrdiff_t>(bytes / sizes_[0]),
                        [](bool used) { return used; });
  }
  void set(extent part, bool used) {
    const auto first = used_.begin() + static_cast<std::ptrdiff_t>(part.offset / sizes_[0]);
    std::fill(first, first + static_cast<std::ptrdiff_t>(part.bytes / sizes_[0]), used);
  }
  std::uint64_t free_bytes() const {
    return static_cast<std::uint64_t>(std::count(used_.begin(), used_.end(), false)) * sizes_[0];
  }

 private:
  std::vector<std::uint64_t> sizes_;
  std::vector<bool> used_;
};

/// Random requests and releases, each compared with the model; then everything is released.
template <class Allocator>
void compare_with_model(std::uint64_t pool_bytes, model right, std::uint64_t seed, int steps) {
  CAPTURE(seed);
  pool_fixture<Allocator> pool(pool_bytes);
  const Allocator allocator = pool.ref();
  std::mt19937_64 draw(seed);
  std::vector<extent> held;
  int wrong = 0;
  for (int step = 0; step < steps; ++step) {
    // Pressure comes and goes, so that the pool is now full, now nearly empty.
    const bool take = draw() % 100 < (step / 200 % 2 == 0 ? 65u : 35u);
    if (take) {
      const std::uint64_t limit = allocator.max_bytes() >> draw() % 12;
      const std::uint64_t bytes = 1 + draw() % std::max<std::uint64_t>(limit, 1);
      const result<extent> part = allocator.allocate(bytes);
      wrong += static_cast<bool>(part) != right.can_grant(bytes);
      if (!part) {
        wrong += part.status.code != status_code::would_block;
        continue;
      }
      const extent got = part.value;
      REQUIRE(got.offset + got.bytes <= pool_bytes);
      wrong += got.bytes != right.granted_bytes(bytes) || !right.is_aligned(got);
      wrong += !right.is_free(got.offset, got.bytes);
      right.set(got, true);
      held.push_back(got);
    } else if (!held.empty()) {
      std::swap(held[draw() % held.size()], held.back());
      wrong += !allocator.release(held.back()).ok();
      right.set(held.back(), false);
      held.pop_back();
    }
    wrong += allocator.free_bytes() != right.free_bytes();
    wrong += allocator.usage().owned_bytes() != pool_bytes - right.free_bytes();
    REQUIRE(wrong == 0);
  }
  for (const extent& part : held) REQUIRE(allocator.release(part).ok());
  CHECK(allocator.is_whole());
  CHECK(allocator.free_bytes() == pool_bytes);
}

}  // namespace

TEST_CASE("one thread's requests are granted exactly when a free run exists") {
  const std::uint64_t seed = std::random_device{}();
  compare_with_model<usual>(8 * mib, model({4 * kib, 64 * kib, mib}, 8 * mib), seed, 4000);
  compare_with_model<usual>(35 * mib, model({4 * kib, 64 * kib, mib}, 35 * mib), seed, 1000);
  compare_with_model<narrow>(64 * kib * 3, model({4 * kib, 16 * kib, 64 * kib}, 64 * kib * 3), seed,
                             4000);
  compare_with_model<two_levels>(80 * kib, model({512, 16 * kib}, 80 * kib), seed, 4000);
  compare_with_model<one_level>(8 * kib * 40, model({8 * kib}, 8 * kib * 40), seed, 4000);
}

TEST_CASE("every size is granted at the closest level, aligned to it, and merges back") {
  pool_fixture<usual> pool(16 * mib);
  const usual allocator = pool.ref();
  const std::pair<std::uint64_t, std::uint64_t> sizes[] = {{1, 4 * kib},
                                                           {4 * kib, 4 * kib},
                                                           {4 * kib + 1, 8 * kib},
                                                           {60 * kib, 60 * kib},
                                                           {60 * kib + 1, 64 * kib},
                                                           {64 * kib, 64 * kib},
                                                           {68 * kib, 128 * kib},
                                                           {960 * kib, 960 * kib},
                                                           {960 * kib + 1, mib},
                                                           {mib, mib},
                                                           {3 * mib + 1, 4 * mib},
                                                           {16 * mib, 16 * mib}};
  for (const auto& [asked, granted] : sizes) {
    CAPTURE(asked);
    const result<extent> part = allocator.allocate(asked);
    REQUIRE(part);
    CHECK(part.value.bytes == granted);
    CHECK(allocator.free_bytes() == 16 * mib - granted);
    CHECK(allocator.release({part.value.offset, asked}).ok());
    CHECK(allocator.is_whole());
  }
}

TEST_CASE("a request of nothing, or above the largest run, is an invalid argument") {
  pool_fixture<usual> small(2 * mib);
  CHECK(small.ref().max_bytes() == 2 * mib);
  CHECK(refusal(small.ref().allocate(0)) == status_code::invalid_argument);
  CHECK(refusal(small.ref().allocate(2 * mib + 1)) == status_code::invalid_argument);
  pool_fixture<usual> large(64 * mib);
  CHECK(large.ref().max_bytes() == 16 * mib);
  CHECK(refusal(large.ref().allocate(16 * mib + 1)) == status_code::invalid_argument);
  CHECK(refusal(large.ref().allocate(~std::uint64_t{0})) == status_code::invalid_argument);
}

TEST_CASE(
    "an exhausted pool answers would_block at every level, and grants again after a release") {
  pool_fixture<usual> pool(2 * mib);
  const usual allocator = pool.ref();
  std::vector<extent> parts;
  for (int k = 0; k < 512; ++k) {
    const result<extent> part = allocator.allocate(4 * kib);
    REQUIRE(part);
    parts.push_back(part.value);
  }
  CHECK(allocator.free_bytes() == 0);
  for (const std::uint64_t bytes : {4 * kib, 64 * kib, mib, 2 * mib}) {
    CHECK(refusal(allocator.allocate(bytes)) == status_code::would_block);
  }
  CHECK(allocator.release(parts[77]).ok());
  CHECK(refusal(allocator.allocate(8 * kib)) == status_code::would_block);
  const result<extent> again = allocator.allocate(4 * kib);
  REQUIRE(again);
  CHECK(again.value == parts[77]);
  for (const extent& part : parts) CHECK(allocator.release(part).ok());
  CHECK(allocator.is_whole());
}

TEST_CASE("no part lies past the end of a pool that is no multiple of a word") {
  pool_fixture<usual> pool(5 * mib);
  const usual allocator = pool.ref();
  std::uint64_t end = 0;
  for (int k = 0; k < 5; ++k) {
    const result<extent> part = allocator.allocate(mib);
    REQUIRE(part);
    end = std::max(end, part.value.offset + part.value.bytes);
  }
  CHECK(end == 5 * mib);
  CHECK(refusal(allocator.allocate(mib)) == status_code::would_block);
}

TEST_CASE("a double release is refused and changes nothing") {
  pool_fixture<usual> pool(2 * mib);
  const usual allocator = pool.ref();
  for (const std::uint64_t bytes : {4 * kib, 12 * kib, 64 * kib, 192 * kib, mib}) {
    CAPTURE(bytes);
    const result<extent> neighbour = allocator.allocate(bytes);
    const result<extent> part = allocator.allocate(bytes);
    REQUIRE(neighbour);
    REQUIRE(part);
    CHECK(allocator.release(part.value).ok());
    CHECK(refuses(allocator, part.value));  // its larger block is still split
    CHECK(allocator.free_bytes() == 2 * mib - bytes);
    CHECK(allocator.release(neighbour.value).ok());
    CHECK(refuses(allocator, part.value));  // and now merged
    CHECK(allocator.is_whole());
  }
}

TEST_CASE("a part that was never granted is refused and changes nothing") {
  pool_fixture<usual> pool(2 * mib);
  const usual allocator = pool.ref();
  const result<extent> small = allocator.allocate(4 * kib);
  const result<extent> large = allocator.allocate(mib);
  REQUIRE(small);
  REQUIRE(large);
  const std::uint64_t free = allocator.free_bytes();
  CHECK(refuses(allocator, {0, 0}));
  CHECK(refuses(allocator, {small.value.offset + 1, 4 * kib}));        // misaligned
  CHECK(refuses(allocator, {small.value.offset + 4 * kib, 4 * kib}));  // free
  CHECK(refuses(allocator, {small.value.offset, 64 * kib}));           // split
  CHECK(refuses(allocator, {60 * kib, 8 * kib}));                      // crosses a larger block
  CHECK(refuses(allocator, {large.value.offset, 4 * kib}));            // inside a larger part
  CHECK(refuses(allocator, {2 * mib, 4 * kib}));                       // past the end
  CHECK(refuses(allocator, {mib, 2 * mib}));
  CHECK(refuses(allocator, {~std::uint64_t{0} - 4095, 4 * kib}));
  CHECK(allocator.free_bytes() == free);
  CHECK(allocator.release(small.value).ok());
  CHECK(allocator.release(large.value).ok());
  CHECK(allocator.is_whole());
}

TEST_CASE("small requests fill one large block before they split the next") {
  pool_fixture<usual> pool(8 * mib);
  const usual allocator = pool.ref();
  std::vector<extent> parts;
  for (int k = 0; k < 256; ++k) {
    const result<extent> part = allocator.allocate(4 * kib);
    REQUIRE(part);
    parts.push_back(part.value);
  }
  for (int k = 0; k < 7; ++k) {  // seven of eight large blocks are untouched
    const result<extent> part = allocator.allocate(mib);
    REQUIRE(part);
    parts.push_back(part.value);
  }
  CHECK(refusal(allocator.allocate(4 * kib)) == status_code::would_block);
  for (const extent& part : parts) CHECK(allocator.release(part).ok());
  CHECK(allocator.is_whole());
}

TEST_CASE("a pool says who owns its blocks, level by level") {
  pool_fixture<usual> pool(4 * mib);
  const usual allocator = pool.ref();
  const result<extent> pages = allocator.allocate(12 * kib);
  const result<extent> middle = allocator.allocate(128 * kib);
  const result<extent> large = allocator.allocate(mib);
  REQUIRE((pages && middle && large));
  const pool_usage<3> seen = allocator.usage();
  CHECK(seen.level[0].owned == 3);
  CHECK(seen.level[0].free == 13);
  CHECK(seen.level[1].owned == 2);
  CHECK(seen.level[1].split == 1);
  CHECK(seen.level[1].free == 13);
  CHECK(seen.level[2].owned == 1);
  CHECK(seen.level[2].split == 1);
  CHECK(seen.level[2].free == 2);
  CHECK(seen.owned_bytes() == 12 * kib + 128 * kib + mib);
  CHECK(seen.owned_bytes() + seen.free_bytes() == 4 * mib);
}

TEST_CASE("a block without a free part is marked, and loses the mark with the first release") {
  pool_fixture<usual> pool(2 * mib);
  const usual allocator = pool.ref();
  const auto full = [&](unsigned level) { return allocator.usage().level[level].full; };
  std::vector<extent> parts;
  for (int k = 0; k < 256; ++k) {  // all pages of the first large block
    CHECK(full(1) == static_cast<std::uint64_t>(k / 16));
    CHECK(full(2) == 0);
    const result<extent> part = allocator.allocate(4 * kib);
    REQUIRE(part);
    parts.push_back(part.value);
  }
  CHECK(full(1) == 16);
  CHECK(full(2) == 1);
  CHECK(allocator.release(parts[100]).ok());
  CHECK(full(1) == 15);
  CHECK(full(2) == 0);
  const result<extent> again = allocator.allocate(4 * kib, effort::quick);
  REQUIRE(again);
  CHECK(again.value == parts[100]);
  CHECK(full(2) == 1);
  for (const extent& part : parts) CHECK(allocator.release(part).ok());
  CHECK(allocator.is_whole());
}

TEST_CASE("a random mix leaves large blocks at half load") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  pool_fixture<usual> pool(64 * mib);
  const usual allocator = pool.ref();
  std::mt19937_64 draw(seed);
  std::vector<extent> held;
  for (int step = 0; step < 20000; ++step) {
    const std::uint64_t sizes[] = {4 * kib, 4 * kib, 4 * kib, 16 * kib, 64 * kib, 64 * kib};
    if (allocator.free_bytes() > 32 * mib) {
      const result<extent> part = allocator.allocate(sizes[draw() % std::size(sizes)]);
      REQUIRE(part);
      held.push_back(part.value);
    } else {
      std::swap(held[draw() % held.size()], held.back());
      CHECK(allocator.release(held.back()).ok());
      held.pop_back();
    }
  }
  int large = 0;
  while (allocator.allocate(mib)) ++large;
  // Half of the pool is in use; first fit keeps nearly all of the rest together.
  CHECK(large >= 24);  // of 32
}

TEST_CASE("format refuses a pool that the largest block does not divide") {
  std::vector<std::uint64_t> words(4096);
  CHECK_THROWS_AS(usual::format(words.data(), 0), verify_error);
  CHECK_THROWS_AS(usual::format(words.data(), mib + 4096), verify_error);
}
