/// Dirty region logs: what marks a region, what wipes it, and what a flipped bit makes of it.
// not under tsan: one lane works

#include "rig.hpp"
#include <deengine/checkpoint.hpp>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr fw::geometry shape{.pages = 2048, .shards = 4, .pages_per_block = 32, .max_volumes = 4};

/// How many regions of a volume are dirty.
std::uint32_t count(rig& r, std::uint16_t vid) {
  const wire::afa::dirty_regions all = r.dirty(vid);
  std::uint32_t n = 0;
  for (std::uint32_t k = 0; k < wire::afa::dirty_region_count; ++k) n += all.holds(k) ? 1 : 0;
  return n;
}
void deallocate(rig& r, std::uint16_t vid, std::uint32_t first) {
  const fw::admission a = r.ssd().check(r.io(vid, first, 1, true));
  REQUIRE(a.ok());
  REQUIRE(r.deallocate(a) == 0);
}

}  // namespace

TEST_CASE("a write, and what makes a block unwritten, marks its region, and nothing else does") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 640)) == 0);
  REQUIRE(r.ssd().volume_add(1, volume(2, 640)) == 0);
  CHECK(count(r, 1) == 0);
  (void)r.read(1, 5);
  deallocate(r, 1, 7);  // it held nothing
  CHECK(count(r, 1) == 0);
  REQUIRE(r.write(1, 16 * 33 + 3, 2, 100) == 0);
  CHECK(r.dirty(1).holds(33));
  REQUIRE(r.write(1, 16 * 33, 1, 200) == 0);
  CHECK(count(r, 1) == 1);
  CHECK(count(r, 2) == 0);
  r.clean(1);
  CHECK(count(r, 1) == 0);
  deallocate(r, 1, 16 * 33);
  CHECK(r.dirty(1).holds(33));
  // What is checked and never committed changes nothing.
  const fw::admission a = r.ssd().check(r.io(2, 0, 1, true));
  std::uint32_t page = 0;
  REQUIRE(r.take(a, &page) == 0);
  r.ssd().abandon(a, &page);
  CHECK(count(r, 2) == 0);
}

TEST_CASE("regions are as large as the volume says, and beyond the last they begin again") {
  rig r(shape);
  record v = volume(1, 1500, 1);
  v.region_shift = 1;
  REQUIRE(r.ssd().volume_add(1, v) == 0);
  REQUIRE(r.write(1, 6, 1, 1) == 0);
  REQUIRE(r.write(1, 7, 1, 1) == 0);
  REQUIRE(r.write(1, 1024 + 9, 1, 1) == 0);
  const wire::afa::dirty_regions all = r.dirty(1);
  CHECK(all.holds(3));
  CHECK(all.holds(4));
  CHECK(count(r, 1) == 2);
  v.vid = 2;
  v.region_shift = 32;
  CHECK(r.ssd().volume_add(1, v) == afa(wire::afa::status::bad_payload));
}

TEST_CASE("who has a place in the table next finds it clean") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 640)) == 0);
  REQUIRE(r.write(1, 0, 4, 100) == 0);
  REQUIRE(r.ssd().volume_delete(1, volume_id(1)) == 0);
  REQUIRE(r.ssd().volume_add(1, volume(3, 640)) == 0);
  CHECK(count(r, 3) == 0);
}

TEST_CASE("a mark that comes late is not lost: what was admitted before the volume was clean") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 640)) == 0);
  const fw::admission late = r.ssd().check(r.io(1, 32, 1, true));
  std::uint32_t page = 0;
  REQUIRE(r.take(late, &page) == 0);
  r.fill(page, 7);
  r.clean(1);
  REQUIRE(r.commit(late, &page) == 0);  // it has the right still
  CHECK(r.dirty(1).holds(2));
}

TEST_CASE("a flipped bit of a log makes regions dirty, and none clean") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 640)) == 0);
  REQUIRE(r.write(1, 16 * 33, 1, 100) == 0);
  const fw::layout at = fw::layout::of(shape);
  auto* const words =
      reinterpret_cast<std::uint64_t*>(static_cast<char*>(r.meta()) + at.dirty(shape));
  const std::uint64_t row_words = (at.pool - at.dirty(shape)) / 8;
  std::uint32_t marked = 0;
  for (std::uint64_t w = 0; w < row_words; ++w) marked += words[w] != 0 ? 1 : 0;
  REQUIRE(marked == 1);
  for (std::uint64_t w = 0; w < row_words; ++w) {
    if (words[w] == 0) continue;
    for (std::uint32_t bit = 0; bit < 64; ++bit) {
      CAPTURE(bit);
      const std::uint64_t was = words[w];
      words[w] ^= std::uint64_t{1} << bit;
      CHECK(r.dirty(1).holds(33));
      // A mark in the upper half alone is nobody's.
      const bool damaged = bit == 1 || (bit >= 32 && bit != 33 % 32 + 32);
      CHECK(count(r, 1) == (damaged ? 32 : bit == 33 ? 1 : 2));
      REQUIRE(r.write(1, 16 * 33, 1, 100) == 0);
      CHECK(r.dirty(1).holds(33));
      words[w] = was;
    }
  }
}

TEST_CASE("a log is asked for of every shard's owner, one after another") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 640)) == 0);
  fw::known_grant known{};
  fw::admission a = r.ssd().check_volume(r.io(1, 0, 1, true), known);
  wire::afa::dirty_regions out;
  std::uint32_t asked = 1;
  for (; !r.ssd().dirty_regions(a, out, false); ++asked) {
    REQUIRE(asked < shape.shards);
    CHECK(a.shard == asked);
  }
  CHECK(asked == shape.shards);
  // Who takes marks asks all twice: what was marked before is committed then.
  a = r.ssd().check_volume(r.io(1, 0, 1, true), known);
  for (asked = 1; !r.ssd().dirty_regions(a, out, true); ++asked) {
    REQUIRE(asked < 2 * shape.shards);
    CHECK(a.shard == asked % shape.shards);
    // Marked while the first shards have been asked already.
    if (asked == 1) REQUIRE(r.write(1, 16 * 9, 1, 100) == 0);
  }
  CHECK(asked == 2 * shape.shards);
  CHECK(out.holds(9));
}

TEST_CASE("who asks again and again is answered what was marked since, and no mark is lost") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 16 * 640)) == 0);
  const auto taken = [&] {
    fw::known_grant known{};
    fw::admission a = r.ssd().check_volume(r.io(1, 0, 1, true), known);
    wire::afa::dirty_regions out{};
    while (!r.ssd().dirty_regions(a, out, true)) continue;
    CHECK(out.version == wire::afa::payload_version);
    CHECK(out.vid == 1);
    std::vector<std::uint32_t> regions;
    for (std::uint32_t k = 0; k < wire::afa::dirty_region_count; ++k)
      if (out.holds(k)) regions.push_back(k);
    return regions;
  };
  using list = std::vector<std::uint32_t>;
  REQUIRE(r.write(1, 16 * 3, 1, 100) == 0);
  CHECK(taken() == list{3});
  CHECK(taken().empty());
  REQUIRE(r.write(1, 16 * 3, 1, 101) == 0);
  REQUIRE(r.write(1, 16 * 40, 1, 102) == 0);
  CHECK(taken() == list{3, 40});
  REQUIRE(r.write(1, 16 * 40 + 1, 1, 103) == 0);
  CHECK(count(r, 1) == 2);
  r.mount();  // killed, which begins anew
  CHECK(count(r, 1) == 2);
  CHECK(taken() == list{3, 40});

  SUBCASE("damage counts as marks, also once it was taken") {
    const fw::layout at = fw::layout::of(shape);
    auto* words = reinterpret_cast<std::uint64_t*>(static_cast<char*>(r.meta()) + at.dirty(shape));
    while (*words == 0) ++words;
    *words = std::uint64_t{1} << 41;
    CHECK(taken().size() == 32);
    CHECK(count(r, 1) == 33);
  }
  SUBCASE("a mark is one of those that are asked for without this") {
    CHECK(r.dirty(1).holds(3));
    CHECK(r.dirty(1).holds(40));
  }
  SUBCASE("once it lies elsewhere marks are kept as before") {
    wire::afa::volume_chmod change{};
    change.version = wire::afa::payload_version;
    change.vid = 1;
    change.ssd_count = 2;
    change.spread = wire::afa::volume_spread::moved;
    REQUIRE(r.ssd().volume_chmod(1, change) == 0);
    CHECK(taken() == list{3, 40});
  }
}

TEST_CASE("a volume that is held takes no write before its epoch, and all else goes on") {
  rig r(shape);
  r.seals = true;
  record v = volume(1, 640);
  v.clients[v.client_count++] = {9, wire::afa::right_read | wire::afa::right_fill};
  REQUIRE(r.ssd().volume_add(1, v) == 0);
  REQUIRE(r.write(1, 5, 1, 100) == 0);
  fw::known_grant known{};
  const fw::admission late = r.ssd().check(r.io(1, 5, 1, true), known);
  std::uint32_t page = 0;
  REQUIRE(r.take(late, &page) == 0);
  wire::afa::volume_chmod hold{};
  hold.version = wire::afa::payload_version;
  hold.vid = 1;
  hold.sets = wire::afa::volume_chmod::sets_hold;
  hold.held_until = 2;
  REQUIRE(r.ssd().volume_chmod(1, hold) == 0);
  CHECK(r.ssd().check(r.io(1, 5, 1, true), known).status == afa(wire::afa::status::stale_epoch));
  CHECK(r.commit(late, &page) == afa(wire::afa::status::stale_epoch));  // admitted before
  CHECK(r.ssd().check(r.io(1, 5, 1, false), known).ok());
  fw::request given = r.io(1, 5, 1, true, 9);
  given.fill = true;
  CHECK(r.ssd().check(given).ok());
  REQUIRE(r.ssd().array_update({wire::afa::payload_version, 2, 0, 0}) == 0);
  CHECK(r.ssd().check(r.io(1, 5, 1, true), known).ok());
}

TEST_CASE("marks that a machine has lost with its page cache are not missed") {
  rig r(shape);
  r.who.boot = 5;
  REQUIRE(fw::format(r.meta(), r.meta_bytes(), shape, r.who) == fw::mount_status::ok);
  REQUIRE(r.ssd().volume_add(1, volume(1, 640)) == 0);
  REQUIRE(r.ssd().volume_add(1, volume(2, 640)) == 0);
  REQUIRE(r.write(1, 16, 1, 100) == 0);
  r.mount();  // its process was killed
  CHECK(count(r, 1) == 1);
  REQUIRE(fw::checkpoint(r.meta(), shape));
  r.who.boot = 6;  // it was stopped in order, and the machine after it
  r.mount();
  CHECK(count(r, 1) == 1);
  CHECK(count(r, 2) == 0);
  r.who.boot = 7;  // the machine lost its power
  r.mount();
  CHECK(count(r, 1) == wire::afa::dirty_region_count);
  CHECK(count(r, 2) == wire::afa::dirty_region_count);
  r.clean(1);
  r.mount();
  CHECK(count(r, 1) == 0);
}

TEST_CASE(
    "an SSD that is filled is dirty all over, and nobody calls it clean before it is in sync") {
  constexpr std::uint32_t all = wire::afa::dirty_region_count;
  const auto members = [](std::uint32_t epoch, std::uint64_t absent, std::uint64_t filling) {
    return wire::afa::array_membership{wire::afa::payload_version, epoch, absent, filling};
  };
  rig r(shape);
  REQUIRE(r.ssd().array_update(members(2, 1, 0)) == 0);
  const record v = volume(1, 640);
  REQUIRE(r.ssd().volume_add(2, v) == 0);
  CHECK(count(r, 1) == all);
  REQUIRE(r.ssd().array_update(members(3, 0, 1)) == 0);
  r.clean(1);
  CHECK(count(r, 1) == all);
  r.mount();
  CHECK(count(r, 1) == all);
  REQUIRE(r.ssd().array_update(members(4, 0, 0)) == 0);
  CHECK(count(r, 1) == all);
  r.clean(1);
  CHECK(count(r, 1) == 0);
  CHECK(r.ssd().volume_add(4, r.ssd().parts().volumes_table<thread_scope_system>().read(0)) == 0);
  CHECK(count(r, 1) == 0);  // it was there
}

TEST_CASE("what an SSD is given in place of a damaged block is dirty") {
  rig r(shape);
  r.seals = true;
  record v = volume(1, 640);
  v.clients[v.client_count++] = {9, wire::afa::right_fill};
  REQUIRE(r.ssd().volume_add(1, v) == 0);
  REQUIRE(r.write(1, 5, 1, 100) == 0);
  r.clean(1);
  std::uint32_t page = 0;
  r.ssd().lookup(r.ssd().check(r.io(1, 5, 1, false)), &page);
  r.ssd().unpin(page);
  *static_cast<char*>(r.ssd().page(page)) ^= 1;
  fw::request given = r.io(1, 5, 1, true, 9);
  given.fill = true;
  const fw::admission a = r.ssd().check(given);
  std::uint32_t fresh = 0;
  REQUIRE(r.take(a, &fresh) == 0);
  r.fill(fresh, 100);
  r.ssd().seal(fresh, gnstor::detail::page_crc_alone(r.ssd().page(fresh)));
  REQUIRE(r.ssd().commit_fill(a, {client_id(9), 1}, &fresh, false) == 0);
  CHECK(r.dirty(1).holds(0));
  CHECK(count(r, 1) == 1);
}

TEST_CASE("what damaged a sealed SSD may have damaged its marks") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 640)) == 0);
  REQUIRE(r.write(1, 16, 1, 100) == 0);
  REQUIRE(fw::checkpoint(r.meta(), shape));
  const fw::layout at = fw::layout::of(shape);
  std::memset(static_cast<char*>(r.meta()) + at.dirty(shape), 0,
              at.pool - at.dirty(shape));  // a lost sector
  r.mount();
  CHECK(count(r, 1) == wire::afa::dirty_region_count);
}

TEST_CASE("only who fills may ask, of a volume that there is, in the present epoch") {
  rig r(shape);
  record v = volume(1, 640);
  v.clients[v.client_count++] = {9, wire::afa::right_fill};
  REQUIRE(r.ssd().volume_add(1, v) == 0);
  const auto ask = [&](std::uint16_t vid, std::uint16_t client, std::uint32_t epoch) {
    fw::request q = io_request(vid, 639, 4, true, client, epoch);
    q.fill = true;
    fw::known_grant known{};
    return r.ssd().check_volume(q, known).status;
  };
  CHECK(ask(1, 9, 1) == 0);
  CHECK(ask(1, 1, 1) == afa(wire::afa::status::not_permitted));
  CHECK(ask(1, 7, 1) == afa(wire::afa::status::not_permitted));
  CHECK(ask(2, 9, 1) == afa(wire::afa::status::unknown_volume));
  CHECK(ask(1, 9, 2) == afa(wire::afa::status::stale_epoch));
  // One that is filled answers, too: it has taken writes.
  REQUIRE(r.ssd().array_update({wire::afa::payload_version, 2, 0, 1}) == 0);
  CHECK(ask(1, 9, 2) == 0);
}
