/// What a VOLUME CHMOD may set of a volume, and what it leaves as it was.
#include <gnstor/wire/afa/volume_rules.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <initializer_list>

namespace {

namespace afa = gnstor::wire::afa;

afa::volume_record volume() {
  afa::volume_record r{};
  r.version = afa::payload_version;
  r.vid = 5;
  r.replicas = 2;
  r.hash_factor = 7;
  r.capacity_blocks = 100;
  r.stripe_blocks = 16;
  r.ssd_count = 4;
  return r;
}

/// What becomes of `r` when it is to have so many blocks. @param sets whether that counts
std::uint16_t resized(afa::volume_record& r, std::uint64_t blocks, bool sets = true) {
  afa::volume_chmod change{};
  change.version = afa::payload_version;
  change.vid = r.vid;
  change.sets = sets ? afa::volume_chmod::sets_capacity : 0;
  change.capacity_blocks = blocks;
  return afa::apply_chmod(r, change, 4);
}

}  // namespace

TEST_CASE("a volume grows to what a block address reaches, and never shrinks") {
  const std::uint16_t refused = afa::make_status(afa::status::bad_payload);
  afa::volume_record r = volume();
  CHECK(resized(r, 101) == 0);
  CHECK(r.capacity_blocks == 101);
  CHECK(resized(r, 101) == 0);
  CHECK(resized(r, 100) == refused);
  CHECK(resized(r, afa::max_volume_blocks + 1) == refused);
  CHECK(resized(r, 0, false) == 0);
  CHECK(r.capacity_blocks == 101);
  CHECK(resized(r, afa::max_volume_blocks) == 0);
  afa::volume_record expected = volume();
  expected.capacity_blocks = afa::max_volume_blocks;
  CHECK(std::memcmp(&r, &expected, sizeof r) == 0);
}

TEST_CASE("what nobody knows is not set, and nothing beside it") {
  afa::volume_record r = volume();
  afa::volume_chmod change{};
  change.version = afa::payload_version;
  change.sets = afa::volume_chmod::sets_capacity | 32;
  change.capacity_blocks = 200;
  CHECK(afa::apply_chmod(r, change, 4) == afa::make_status(afa::status::bad_payload));
  CHECK(r.capacity_blocks == 100);
}

TEST_CASE(
    "a volume is spread over one SSD more, or leaves its last one once others have gathered") {
  using spread = afa::volume_spread;
  const auto says = [](spread from, std::uint32_t count, spread to, std::uint16_t replicas = 2) {
    afa::volume_record r = volume();
    r.replicas = replicas;
    r.spread = from;
    afa::volume_chmod change{};
    change.version = afa::payload_version;
    change.ssd_count = count;
    change.spread = to;
    const bool taken = afa::apply_chmod(r, change, 5) == 0;
    CHECK((r.ssd_count == count && r.spread == to) == (taken || (count == 4 && from == to)));
    return taken;
  };
  for (const spread from : {spread::whole, spread::dropping}) {
    CHECK(says(from, 5, spread::moved));
    CHECK(says(from, 4, spread::moved));
    CHECK(says(from, 4, spread::gathering));
    CHECK(!says(from, 3, spread::moved));  // nobody has what it holds
    CHECK(!says(from, 3, spread::gathering));
    CHECK(!says(from, 3, spread::dropping));
    CHECK(!says(from, 6, spread::moved));
    CHECK(says(from, 4, spread::dropping));  // one that was away
  }
  CHECK(says(spread::gathering, 3, spread::moved));
  CHECK(says(spread::gathering, 4, spread::moved));  // it is given up
  CHECK(says(spread::gathering, 4, spread::gathering));
  CHECK(says(spread::gathering, 4, spread::dropping));
  CHECK(says(spread::joining, 4, spread::dropping));
  CHECK(!says(spread::creating, 4, spread::dropping));
  CHECK(!says(spread::deleting, 4, spread::dropping));
  CHECK(!says(spread::gathering, 5, spread::moved));
  CHECK(!says(spread::gathering, 2, spread::moved));
  CHECK(!says(spread::moved, 4, spread::gathering));
  CHECK(!says(spread::moved, 3, spread::moved));
  CHECK(says(spread::moved, 4, spread::dropping));
  CHECK(!says(spread::whole, 4, spread::gathering, 4));  // as many replicas as SSDs
  CHECK(says(spread::whole, 4, spread::gathering, 3));
}
