/// What was written is what is read: pages, pins, the full device and the end of a volume.

#include "killed_copy.hpp"
#include "rig.hpp"
#include <gnstor/simt/group.hpp>
#include <gnstor/simt_host/lone_lane.hpp>

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::status;
using wire::nvme::generic_status;

namespace {

const fw::geometry small{.pages = 1024, .shards = 2, .pages_per_block = 16, .max_volumes = 8};

/// True if the table of a shard of 32 pages cannot tell two blocks apart: equal fingerprints and
/// equal home buckets.
bool alias(std::uint64_t generation, std::uint32_t a, std::uint32_t b) {
  constexpr std::uint64_t buckets = fw::cuckoo_map::buckets_for(32);
  const std::uint64_t x = mix64(generation << 32 | a);
  const std::uint64_t y = mix64(generation << 32 | b);
  const auto home = [](std::uint64_t hash) { return (hash & 0xffffffff) * buckets >> 32; };
  return x >> 48 == y >> 48 && home(x) == home(y);
}

/// True if both buckets of a block are the same one there.
bool has_one_bucket(std::uint64_t generation, std::uint32_t a) {
  constexpr std::uint64_t buckets = fw::cuckoo_map::buckets_for(32);
  const std::uint64_t x = mix64(generation << 32 | a);
  const std::uint64_t sum = mix32(static_cast<std::uint32_t>(x >> 48)) * buckets >> 32;
  return 2 * ((x & 0xffffffff) * buckets >> 32) % buckets == sum;
}

}  // namespace

TEST_CASE("a block never written reads as no page, and so does a deallocated one") {
  rig r(small);
  REQUIRE(r.ssd().volume_add(1, volume(1, 200)) == 0);
  CHECK(r.read(1, 5) == 0);
  REQUIRE(r.write(1, 0, 16, 100) == 0);
  CHECK(r.read(1, 5) == 105);
  (void)r.deallocate(r.ssd().check(r.io(1, 4, 2, true)));
  CHECK(r.read(1, 3) == 103);
  CHECK(r.read(1, 4) == 0);
  CHECK(r.read(1, 5) == 0);
  CHECK(r.read(1, 6) == 106);
}

TEST_CASE("two volumes with the same block addresses do not see each other's bytes") {
  rig r(small);
  REQUIRE(r.ssd().volume_add(1, volume(1, 200)) == 0);
  REQUIRE(r.ssd().volume_add(1, volume(2, 200)) == 0);
  REQUIRE(r.write(1, 0, 16, 100) == 0);
  REQUIRE(r.write(2, 0, 16, 500) == 0);
  for (std::uint32_t b = 0; b < 16; ++b) {
    CHECK(r.read(1, b) == 100 + b);
    CHECK(r.read(2, b) == 500 + b);
  }
}

TEST_CASE("a block whose fingerprint and bucket alias a written one's is still unwritten") {
  // 32 pages in one shard: a table of 10 buckets, where 1 pair of keys in some 600,000 aliases.
  // Search the pair, then ask.
  rig r({.pages = 32, .shards = 1, .pages_per_block = 2, .max_volumes = 2});
  REQUIRE(r.ssd().volume_add(1, volume(1, std::uint64_t{1} << 32)) == 0);
  const std::uint64_t generation = r.ssd().check(r.io(1, 0, 1, false)).generation;
  REQUIRE(r.write(1, 0, 1, 4711) == 0);
  std::uint32_t found = 0;
  for (std::uint32_t b = 1; b < 40'000'000 && found < 4; ++b) {
    if (!alias(generation, 0, b)) continue;
    ++found;
    CAPTURE(b);
    CHECK(r.read(1, b) == 0);
    (void)r.deallocate(r.ssd().check(r.io(1, b, 1, true)));
    CHECK(r.read(1, 0) == 4711);
    REQUIRE(r.write(1, b, 1, 1000 + found) == 0);
    CHECK(r.read(1, 0) == 4711);
    CHECK(r.read(1, b) == 1000 + found);
  }
  CHECK(found == 4);
}

TEST_CASE("a deleted volume is gone at once, and a new one of its VID reads nothing of it") {
  rig r(small);
  REQUIRE(r.ssd().volume_add(1, volume(1, 200)) == 0);
  const std::uint32_t free_before = r.free_pages();
  for (std::uint32_t b = 0; b < 160; b += 16) REQUIRE(r.write(1, b, 16, 100 + b) == 0);
  REQUIRE(r.ssd().volume_delete(1, volume_id(1)) == 0);
  REQUIRE(r.ssd().volume_add(1, volume(1, 200)) == 0);
  for (std::uint32_t b = 0; b < 200; ++b) CHECK(r.read(1, b) == 0);

  SUBCASE("housekeeping gives its pages back") {
    r.tend();
    CHECK(r.free_pages() + 2 * small.pages_per_block > free_before);
    REQUIRE(r.write(1, 16, 4, 900) == 0);
    CHECK(r.read(1, 17) == 901);
    CHECK(r.read(1, 20) == 0);
  }
  SUBCASE("a write that needs its pages gets them without waiting for housekeeping") {
    std::uint32_t written = 0;
    for (std::uint32_t pass = 0; pass < 5; ++pass) {
      for (std::uint32_t b = 0; b < 192; b += 16)
        written += r.write(1, b, 16, 1000 + b) == 0 ? 16 : 0;
    }
    CHECK(written == 5 * 192);
  }
}

TEST_CASE(
    "a write admitted before its volume was deleted does not reach the new volume of that VID") {
  rig r(small);
  REQUIRE(r.ssd().volume_add(1, volume(1, 200)) == 0);
  const fw::admission a = r.ssd().check(r.io(1, 0, 4, true));
  std::uint32_t pages[4];
  REQUIRE(r.take(a, pages) == 0);
  for (const std::uint32_t p : pages) r.fill(p, 666);
  REQUIRE(r.ssd().volume_delete(1, volume_id(1)) == 0);
  REQUIRE(r.ssd().volume_add(1, volume(1, 200)) == 0);
  CHECK(r.commit(a, pages) == afa(status::unknown_volume));
  for (std::uint32_t b = 0; b < 4; ++b) CHECK(r.read(1, b) == 0);
}

TEST_CASE("an abandoned write changes nothing") {
  rig r(small);
  REQUIRE(r.ssd().volume_add(1, volume(1, 200)) == 0);
  REQUIRE(r.write(1, 0, 4, 10) == 0);
  const fw::admission a = r.ssd().check(r.io(1, 0, 4, true));
  std::uint32_t pages[4];
  REQUIRE(r.take(a, pages) == 0);
  for (const std::uint32_t p : pages) r.fill(p, 666);
  r.ssd().abandon(a, pages);
  for (std::uint32_t b = 0; b < 4; ++b) CHECK(r.read(1, b) == 10 + b);
}

TEST_CASE("a page that a reader pins keeps its bytes, however often its block is overwritten") {
  rig r({.pages = 256, .shards = 1, .pages_per_block = 16, .max_volumes = 2});
  REQUIRE(r.ssd().volume_add(1, volume(1, 16)) == 0);
  REQUIRE(r.write(1, 0, 16, 100) == 0);
  const fw::admission a = r.ssd().check(r.io(1, 0, 16, false));
  std::uint32_t pages[16];
  r.ssd().lookup(a, pages);
  for (std::uint64_t pass = 1; pass <= 20; ++pass) {
    REQUIRE(r.write(1, 0, 16, 1000 * pass) == 0);
    for (std::uint32_t k = 0; k < 16; ++k) REQUIRE(r.stamp(pages[k]) == 100 + k);
  }
  // One pin of sixteen is enough to hold the block.
  for (std::uint32_t k = 1; k < 16; ++k) r.ssd().unpin(pages[k]);
  r.tend();
  for (std::uint64_t pass = 1; pass <= 5; ++pass) REQUIRE(r.write(1, 0, 16, 1000 * pass) == 0);
  CHECK(r.stamp(pages[0]) == 100);
  r.tend();
  const std::uint32_t free_while_pinned = r.free_pages();
  r.ssd().unpin(pages[0]);
  r.tend();
  CHECK(r.free_pages() == free_while_pinned + 16);
}

TEST_CASE("an unpin too many is caught") {
  rig r(small);
  REQUIRE(r.ssd().volume_add(1, volume(1, 16)) == 0);
  REQUIRE(r.write(1, 0, 1, 100) == 0);
  std::uint32_t page = 0;
  r.ssd().lookup(r.ssd().check(r.io(1, 0, 1, false)), &page);
  r.ssd().unpin(page);
  CHECK_THROWS_AS(r.ssd().unpin(page), verify_error);
}

TEST_CASE(
    "a full device says capacity exceeded, loses nothing, and takes writes again after a "
    "deallocate") {
  rig r(small);
  REQUIRE(r.ssd().volume_add(1, volume(1, 4096)) == 0);
  std::vector<std::uint64_t> expected(4096);
  std::uint32_t refused = 0;
  for (std::uint32_t b = 0; b < 2048; b += 16) {
    const std::uint16_t answer = r.write(1, b, 16, 10000 + b);
    if (answer != 0) {
      CHECK(answer == generic(generic_status::capacity_exceeded));
      ++refused;
      continue;
    }
    for (std::uint32_t k = 0; k < 16; ++k) expected[b + k] = 10000 + b + k;
  }
  CHECK(refused >= 64);
  for (std::uint32_t b = 0; b < 2048; ++b) REQUIRE(r.read(1, b) == expected[b]);
  for (std::uint32_t b = 0; b < 2048; b += 16) {
    if (expected[b] == 0) continue;
    (void)r.deallocate(r.ssd().check(r.io(1, b, 16, true)));
    CHECK(r.write(1, b, 16, 50) == 0);
    break;
  }
}

TEST_CASE("new blocks beyond what volumes can hold are refused, and all else goes on") {
  rig r({.pages = 256, .shards = 1, .pages_per_block = 16, .max_volumes = 2});
  const std::uint32_t usable = r.shape.usable_pages();
  REQUIRE(usable == 160);
  REQUIRE(r.ssd().volume_add(1, volume(1, 256)) == 0);
  for (std::uint32_t b = 0; b < usable; b += 16) REQUIRE(r.write(1, b, 16, 100 + b) == 0);
  for (int again = 0; again < 3; ++again) {
    CHECK(r.write(1, usable, 16, 1000) == generic(generic_status::capacity_exceeded));
    CHECK(r.write(1, usable + 5, 1, 1000) == generic(generic_status::capacity_exceeded));
  }
  for (std::uint32_t b = 0; b < usable; ++b) CHECK(r.read(1, b) == 100 + b);
  for (std::uint32_t b = usable; b < 256; ++b) CHECK(r.read(1, b) == 0);
  for (std::uint32_t b = 0; b < usable; ++b) REQUIRE(r.write(1, b, 1, 2000 + b) == 0);
  for (std::uint32_t b = 0; b < usable; ++b) CHECK(r.read(1, b) == 2000 + b);
  (void)r.deallocate(r.ssd().check(r.io(1, 32, 3, true)));
  CHECK(r.write(1, usable, 4, 1000) == generic(generic_status::capacity_exceeded));
  CHECK(r.write(1, usable, 3, 1000) == 0);
  CHECK(r.read(1, usable + 2) == 1002);
}

TEST_CASE("a mapping table full of a deleted volume's blocks takes a new volume's at once") {
  rig r({.pages = 4096, .shards = 4, .pages_per_block = 16, .max_volumes = 2});
  // Blocks of one shard alone: its table is full long before the device is.
  const auto fill = [&r](std::uint64_t stamp) {
    std::uint32_t taken = 0;
    for (std::uint32_t b = 0; b < 1 << 17; b += 16) {
      const fw::admission a = r.ssd().check(r.io(1, b, 1, true));
      REQUIRE(a.ok());
      if (a.shard != 0) continue;
      const std::uint16_t answer = r.write(1, b, 1, stamp + b);
      if (answer != 0) {
        CHECK(answer == afa(status::mapping_full));
        return taken;
      }
      ++taken;
    }
    return ~0u;
  };
  REQUIRE(r.ssd().volume_add(1, volume(1, 1 << 17)) == 0);
  const std::uint32_t room = fill(100);
  REQUIRE(room > 1000);
  REQUIRE(r.free_pages() > 1024);
  REQUIRE(r.ssd().volume_delete(1, volume_id(1)) == 0);
  REQUIRE(r.ssd().volume_add(1, volume(1, 1 << 17)) == 0);
  CHECK(fill(1'000'000) == room);
}

TEST_CASE("a mapping table of nine aliases refuses the ninth block and keeps the eight") {
  rig r({.pages = 32, .shards = 1, .pages_per_block = 2, .max_volumes = 2});
  REQUIRE(r.ssd().volume_add(1, volume(1, std::uint64_t{1} << 32)) == 0);
  const std::uint64_t generation = r.ssd().check(r.io(1, 0, 1, false)).generation;
  std::vector<std::uint32_t> twins{7};
  while (has_one_bucket(generation, twins[0])) ++twins[0];
  for (std::uint32_t b = twins[0] + 1; b < 60'000'000 && twins.size() < 9; ++b) {
    if (alias(generation, twins[0], b)) twins.push_back(b);
  }
  REQUIRE(twins.size() == 9);
  killed_copy copy;
  for (const bool copied : {false, true}) {
    CAPTURE(copied);
    if (copied) copy.begin(r);
    for (std::uint32_t k = 0; k < 8; ++k) REQUIRE(r.write(1, twins[k], 1, 100 + k) == 0);
    CHECK(r.write(1, twins[8], 1, 108) == afa(status::mapping_full));
    if (copied) copy.lose(r);
    if (copied) r.mount();
    CHECK(r.read(1, twins[8]) == 0);
    for (std::uint32_t k = 0; k < 8; ++k) CHECK(r.read(1, twins[k]) == 100 + k);
    CHECK(r.write(1, twins[3], 1, 999) == 0);
    CHECK(r.read(1, twins[3]) == 999);
  }
  // Nor does a kill leave in flash what the mapping could not take.
  simt::host::lone_lane lane;
  for (std::uint32_t fuse = 1, kills = fuse; kills == fuse; ++fuse) {
    CAPTURE(fuse);
    copy.begin(r);
    lane.set_fuse(fuse);
    try {
      (void)r.write(1, twins[8], 1, 108);
    } catch (const simt::host::lone_lane::fuse_blown&) {
      ++kills;
    }
    lane.set_fuse(0);
    copy.lose(r);
    r.mount();
    CHECK(r.read(1, twins[8]) == 0);
    for (std::uint32_t k = 0; k < 8; ++k) CHECK(r.read(1, twins[k]) == (k == 3 ? 999 : 100 + k));
  }
}

TEST_CASE("a group of one looks up what a lone lane looks up") {
  rig r(small);
  REQUIRE(r.ssd().volume_add(1, volume(1, 64)) == 0);
  REQUIRE(r.write(1, 0, 9, 100) == 0);
  const fw::admission a = r.ssd().check(r.io(1, 0, 16, false));
  std::uint32_t alone[16];
  std::uint32_t grouped[16];
  r.ssd().lookup(a, alone);
  r.ssd().lookup(simt::group::warp(), a, grouped);
  for (std::uint32_t k = 0; k < 16; ++k) {
    CHECK(alone[k] == grouped[k]);
    if (alone[k] == engine::no_page) continue;
    r.ssd().unpin(alone[k]);
    r.ssd().unpin(grouped[k]);
  }
}

TEST_CASE("every shard of an SSD gets its part of a volume's stripes") {
  const std::uint32_t shards = 64;
  std::vector<std::uint32_t> stripes(shards);
  const rendezvous_placement placement(4);
  std::uint32_t held = 0;
  for (std::uint32_t stripe = 0; stripe < 20000; ++stripe) {
    if (!placement.replicas(volume_id(3), 77, stripe, 2).contains(ssd_index(1))) continue;
    ++stripes[fw::shard_of(volume_id(3), stripe, shards)];
    ++held;
  }
  for (const std::uint32_t n : stripes) {
    CHECK(n > held / shards / 2);
    CHECK(n < held / shards * 2);
  }
}
