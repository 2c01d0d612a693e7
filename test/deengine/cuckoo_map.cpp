/// The mapping table against a plain list of what it must hold: load, the full table, and
/// fingerprints that collide.

#include <deengine/cuckoo_map.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using gnstor::fw::cuckoo_map;

/// A table and, in place of the OOB areas, the key of each page.
struct table {
  explicit table(std::uint32_t buckets)
      : entries(buckets * cuckoo_map::ways), map(entries.data(), buckets) {}

  /// A page that holds `key`.
  std::uint32_t page_of(std::uint64_t key) {
    keys.push_back(key);
    return static_cast<std::uint32_t>(keys.size() - 1);
  }
  std::uint32_t find(std::uint64_t key) const {
    return map.find(key, [&](std::uint32_t page) { return keys[page] == key; });
  }

  std::vector<std::uint64_t> entries;
  std::vector<std::uint64_t> keys;
  cuckoo_map map;
};

/// Keys whose hashes agree in fingerprint and home bucket of any table: they differ in the bits
/// that choose neither.
std::vector<std::uint64_t> twins(std::size_t count) {
  // mix64 is a bijection: walk the hashes that agree in both places, and invert them.
  std::vector<std::uint64_t> keys;
  for (std::uint64_t k = 0; keys.size() < count; ++k) {
    std::uint64_t x = std::uint64_t{0xabcd} << 48 | k << 32 | 0x12345678;
    x ^= x >> 31 ^ x >> 62;
    x *= 0x319642b2d24d8ec3ull;
    x ^= x >> 27 ^ x >> 54;
    x *= 0x96de1b173f119089ull;
    x ^= x >> 30 ^ x >> 60;
    keys.push_back(x);
  }
  return keys;
}

}  // namespace

TEST_CASE("a mapping table takes 0.85 of its entries before the first is refused") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    table t((1u << (seed + 2)) + static_cast<std::uint32_t>(random() % 8));
    std::uint32_t taken = 0;
    for (; taken < t.map.capacity(); ++taken) {
      const std::uint64_t key = random();
      if (!t.map.insert(key, t.page_of(key))) break;
    }
    CHECK(taken >= t.map.room());
    CHECK(t.map.room() >= 0.85 * t.map.capacity() - 1);
    for (std::uint32_t page = 0; page < taken; ++page) {
      const std::uint32_t slot = t.find(t.keys[page]);
      REQUIRE(slot != cuckoo_map::none);
      CHECK(t.map.page(slot) == page);
    }
  }
}

TEST_CASE("a table of buckets for so many entries takes them, and is little larger") {
  for (std::uint32_t entries : {1u, 7u, 64u, 1000u, 4099u, 100'000u}) {
    CAPTURE(entries);
    std::mt19937_64 random(entries);
    table t(cuckoo_map::buckets_for(entries));
    CHECK(t.map.room() >= entries);
    CHECK(t.map.capacity() <=
          std::max(entries / 0.85 + 8, 1.0 * cuckoo_map::fewest * cuckoo_map::ways));
    for (std::uint32_t k = 0; k < entries; ++k) {
      const std::uint64_t key = random();
      REQUIRE(t.map.insert(key, t.page_of(key)));
    }
    for (std::uint32_t page = 0; page < entries; ++page)
      REQUIRE(t.map.page(t.find(t.keys[page])) == page);
  }
}

TEST_CASE("an insert into a full table is refused and leaves every entry where it was") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    table t(16);
    bool refused = false;
    for (int k = 0; k < 200; ++k) {
      const std::vector<std::uint64_t> before = t.entries;
      const std::uint64_t key = random();
      if (t.map.insert(key, t.page_of(key))) continue;
      refused = true;
      REQUIRE(t.entries == before);
      CHECK(t.find(key) == cuckoo_map::none);
    }
    CHECK(refused);
  }
}

TEST_CASE("keys with equal fingerprints and buckets are distinguished by the key check") {
  const auto keys = twins(8);
  table t(2);
  for (const std::uint64_t key : keys) {
    CHECK((gnstor::mix64(key) >> 48) == 0xabcd);
    CHECK(t.find(key) == cuckoo_map::none);
    REQUIRE(t.map.insert(key, t.page_of(key)));
  }
  for (std::uint32_t page = 0; page < 8; ++page) CHECK(t.map.page(t.find(keys[page])) == page);
}

TEST_CASE(
    "the ninth of nine twins is refused, also in a large table, and none of the eight is lost") {
  const auto keys = twins(9);
  table t(1024);
  for (int k = 0; k < 8; ++k) REQUIRE(t.map.insert(keys[k], t.page_of(keys[k])));
  CHECK_FALSE(t.map.insert(keys[8], t.page_of(keys[8])));
  for (std::uint32_t page = 0; page < 8; ++page) CHECK(t.map.page(t.find(keys[page])) == page);
  t.map.erase(t.find(keys[3]));
  CHECK(t.find(keys[3]) == cuckoo_map::none);
  CHECK(t.map.insert(keys[8], 8));
  CHECK(t.map.page(t.find(keys[8])) == 8);
}

TEST_CASE("erase and replace touch the one entry they name") {
  std::mt19937_64 random(7);
  table t(64);
  for (int k = 0; k < 200; ++k) {
    const std::uint64_t key = random();
    REQUIRE(t.map.insert(key, t.page_of(key)));
  }
  for (std::uint32_t page = 0; page < 200; page += 2) t.map.erase(t.find(t.keys[page]));
  for (std::uint32_t page = 1; page < 200; page += 4) {
    const std::uint32_t moved = t.page_of(t.keys[page]);
    t.map.replace(t.find(t.keys[page]), moved);
  }
  for (std::uint32_t page = 0; page < 200; ++page) {
    const std::uint32_t slot = t.find(t.keys[page]);
    if (page % 2 == 0) {
      CHECK(slot == cuckoo_map::none);
    } else {
      CHECK(t.map.page(slot) == (page % 4 == 1 ? 200 + page / 4 : page));
    }
  }
}
