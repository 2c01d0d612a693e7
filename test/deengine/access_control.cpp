/// Every reason to refuse a command has its own status, and every refusal comes from exactly that
/// reason.

#include "rig.hpp"

#include <set>

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::status;
using wire::nvme::generic_status;

namespace {

const fw::geometry small{.pages = 1024, .shards = 2, .pages_per_block = 16, .max_volumes = 40};

/// One replica, so that each stripe has a right and a wrong SSD.
record lonely(std::uint16_t vid) {
  record r = volume(vid, 1000);
  r.replicas = 1;
  return r;
}

std::uint32_t first_stripe(const record& r, bool here) {
  for (std::uint32_t stripe = 0; stripe < 60; ++stripe) {
    const auto set =
        rendezvous_placement(2).replicas(volume_id(r.vid), r.hash_factor, stripe, r.replicas);
    if (set.contains(ssd_index(0)) == here) return stripe;
  }
  return 0;
}

}  // namespace

TEST_CASE(
    "each forged field of a command is refused with its own status, for reads and for writes") {
  rig r(small);
  const record v = lonely(9);
  REQUIRE(r.ssd().volume_add(1, v) == 0);
  const std::uint32_t mine = first_stripe(v, true) * 16;
  const std::uint32_t foreign = first_stripe(v, false) * 16;
  for (const bool write : {false, true}) {
    CAPTURE(write);
    const fw::request good = r.io(9, mine, 16, write);
    REQUIRE(r.ssd().check(good).ok());
    std::set<std::uint16_t> seen;
    const auto refused = [&](auto forge, std::uint16_t expected) {
      fw::request bad = good;
      forge(bad);
      CHECK(r.ssd().check(bad).status == expected);
      CHECK(expected != 0);
      CHECK(seen.insert(expected).second);
    };
    refused([](fw::request& q) { q.blocks = 0; }, generic(generic_status::invalid_field));
    refused([](fw::request& q) { q.client = client_id(2); }, afa(status::wrong_client));
    refused([](fw::request& q) { q.epoch = 0; }, afa(status::stale_epoch));
    refused([](fw::request& q) { q.vid = volume_id(8); }, afa(status::unknown_volume));
    refused([](fw::request& q) { q.client = q.bound_client = client_id(3); },
            afa(status::not_permitted));
    refused([](fw::request& q) { q.first = vba(1000); }, afa(status::beyond_capacity));
    refused([](fw::request& q) { q.first.value += 1; }, afa(status::crosses_stripe));
    refused([&](fw::request& q) { q.first = vba(foreign); }, afa(status::wrong_ssd));
  }
}

TEST_CASE("a client may do what its rights say and nothing else") {
  rig r(small);
  record v = volume(4, 64);
  for (std::uint16_t rights = 0; rights <= 3; ++rights) {
    CAPTURE(rights);
    v.client_count = rights == 0 ? 0 : 1;
    v.clients[0] = {7, rights};
    v.clients[1] = {};
    if (rights == 0) v.clients[0] = {};
    REQUIRE(r.ssd().volume_add(1, v) == 0);
    CHECK(r.ssd().check(r.io(4, 0, 1, false, 7)).ok() == ((rights & wire::afa::right_read) != 0));
    CHECK(r.ssd().check(r.io(4, 0, 1, true, 7)).ok() == ((rights & wire::afa::right_write) != 0));
    CHECK(r.ssd().check(r.io(4, 0, 1, false, 0)).status == afa(status::not_permitted));
    REQUIRE(r.ssd().volume_delete(1, volume_id(4)) == 0);
    CHECK(r.ssd().check(r.io(4, 0, 1, false, 7)).status == afa(status::unknown_volume));
  }
}

TEST_CASE(
    "the last block of a volume is in, the one behind it is out, up to the end of the 32-bit "
    "address") {
  rig r(small);
  REQUIRE(r.ssd().volume_add(1, volume(1, 100)) == 0);
  CHECK(r.ssd().check(r.io(1, 99, 1, false)).ok());
  CHECK(r.ssd().check(r.io(1, 96, 5, false)).status == afa(status::beyond_capacity));
  REQUIRE(r.ssd().volume_add(1, volume(2, std::uint64_t{1} << 32)) == 0);
  CHECK(r.ssd().check(r.io(2, ~0u, 1, true)).ok());
  CHECK(r.ssd().check(r.io(2, ~0u, 2, true)).status == afa(status::beyond_capacity));
  CHECK(r.ssd().check(r.io(2, ~0u, ~0u, true)).status == afa(status::beyond_capacity));
}

TEST_CASE("a deletion that names a hash factor deletes the volume that is meant, and no other") {
  rig r(small);
  auto known = volume(1, 100);
  known.hash_factor = 77;
  REQUIRE(r.ssd().volume_add(1, known) == 0);
  CHECK(r.ssd().volume_delete(1, volume_id(1), 78) == afa(status::unknown_volume));
  CHECK(r.ssd().check(r.io(1, 0, 1, false)).ok());
  CHECK(r.ssd().volume_delete(1, volume_id(1), 77) == 0);
}

TEST_CASE("a creation ends by the same record, and by no other") {
  rig r(small);
  auto claimed = volume(1, 100);
  claimed.spread = wire::afa::volume_spread::creating;
  REQUIRE(r.ssd().volume_add(1, claimed) == 0);
  auto other = volume(1, 100);
  other.hash_factor = claimed.hash_factor + 1;
  CHECK(r.ssd().volume_add(1, other) == afa(status::volume_exists));
  CHECK(r.ssd().volume_add(1, claimed) == 0);
  CHECK(r.ssd().volume_add(1, volume(1, 100)) == 0);
  CHECK(r.ssd().volume_add(1, claimed) == afa(status::volume_exists));  // it has ended
  wire::afa::volume_list list{};
  REQUIRE(r.ssd().volume_list(1, volume_id(1), list) == 0);
  CHECK(list.records[0].spread == wire::afa::volume_spread::whole);
}

TEST_CASE("commands of the old epoch are refused once the array has moved on") {
  rig r(small);
  REQUIRE(r.ssd().volume_add(1, volume(1, 100)) == 0);
  const fw::request old = r.io(1, 0, 1, false);
  REQUIRE(r.ssd().array_update({wire::afa::payload_version, 2, 0, 0}) == 0);
  CHECK(r.ssd().check(old).status == afa(status::stale_epoch));
  CHECK(r.ssd().check(r.io(1, 0, 1, false)).ok());
  wire::afa::volume_list list{};
  CHECK(r.ssd().volume_add(1, volume(2, 100)) == afa(status::stale_epoch));
  CHECK(r.ssd().volume_chmod(1, wire::afa::volume_chmod{}) == afa(status::stale_epoch));
  CHECK(r.ssd().volume_delete(1, volume_id(1)) == afa(status::stale_epoch));
  CHECK(r.ssd().volume_list(1, volume_id(0), list) == afa(status::stale_epoch));
}

TEST_CASE("a bad volume is refused with the reason, and the table stays as it was") {
  rig r(small);
  const auto refused = [&](auto spoil, status expected) {
    record v = volume(5, 100);
    spoil(v);
    CHECK(r.ssd().volume_add(1, v) == afa(expected));
    CHECK(r.ssd().check(r.io(5, 0, 1, false)).status == afa(status::unknown_volume));
  };
  refused([](record& v) { ++v.version; }, status::bad_payload_version);
  refused([](record& v) { v.vid = 0; }, status::bad_payload);
  refused([](record& v) { v.capacity_blocks = 0; }, status::bad_payload);
  refused([](record& v) { v.capacity_blocks = (std::uint64_t{1} << 32) + 1; }, status::bad_payload);
  refused([](record& v) { v.stripe_blocks = 0; }, status::bad_payload);
  refused([](record& v) { v.replicas = 0; }, status::bad_payload);
  refused([](record& v) { v.replicas = 3; }, status::bad_payload);
  refused([](record& v) { v.clients[1].rights = 16; }, status::bad_payload);
  refused([](record& v) { v.clients[1].rights = 0; }, status::bad_payload);
  refused([](record& v) { v.clients[1].client = 1; }, status::bad_payload);
  refused([](record& v) { v.clients[1].rights = 2; }, status::writer_exists);
  refused([](record& v) { v.client_count = 33; }, status::too_many_clients);
}

TEST_CASE("a volume stays on the SSDs that it was created for, though others join the array") {
  rig r(small);
  record v = lonely(5);
  v.ssd_count = 3;
  CHECK(r.ssd().volume_add(1, v) == afa(status::bad_payload));
  v.ssd_count = 1;
  v.replicas = 2;
  CHECK(r.ssd().volume_add(1, v) == afa(status::bad_payload));
  v.replicas = 1;
  REQUIRE(r.ssd().volume_add(1, v) == 0);
  REQUIRE(r.ssd().volume_add(1, lonely(6)) == 0);  // on both
  const std::uint32_t foreign = first_stripe(lonely(6), false);
  const auto check = [&] {
    for (std::uint32_t stripe = 0; stripe < 60; ++stripe)
      CHECK(r.ssd().check(r.io(5, stripe * 16, 16, true)).ok());
    CHECK(r.ssd().check(r.io(6, foreign * 16, 16, true)).status == afa(status::wrong_ssd));
  };
  check();
  wire::afa::volume_list list{};
  REQUIRE(r.ssd().volume_list(1, volume_id(0), list) == 0);
  CHECK(list.records[0].ssd_count == 1);
  CHECK(list.records[1].ssd_count == 2);
  REQUIRE(r.write(5, 7, 1, 42) == 0);
  r.who.ssd_count = 4;
  CHECK(fw::recover(r.meta(), r.meta_bytes(), small, r.who) == fw::mount_status::other_ssd);
  r.who.may_grow = true;
  REQUIRE(fw::recover(r.meta(), r.meta_bytes(), small, r.who) == fw::mount_status::ok);
  fw::join(r.meta(), small, 4);  // once all are mounted
  check();
  CHECK(r.read(5, 7) == 42);
  record wide = lonely(7);
  wide.ssd_count = 4;
  CHECK(r.ssd().volume_add(1, wide) == 0);
  r.who.ssd_count = 2;  // never fewer
  CHECK(fw::recover(r.meta(), r.meta_bytes(), small, r.who) == fw::mount_status::other_ssd);
}

TEST_CASE("adding a volume twice succeeds, adding another one under its VID does not") {
  rig r(small);
  REQUIRE(r.ssd().volume_add(1, volume(5, 100)) == 0);
  REQUIRE(r.write(5, 3, 1, 42) == 0);
  CHECK(r.ssd().volume_add(1, volume(5, 100)) == 0);
  CHECK(r.read(5, 3) == 42);
  CHECK(r.ssd().volume_add(1, volume(5, 101)) == afa(status::volume_exists));
}

TEST_CASE("a grant that is kept ends with the change that takes it away") {
  rig r(small);
  REQUIRE(r.ssd().volume_add(1, volume(5, 100)) == 0);
  fw::known_grant known{};
  const auto check = [&](bool write, std::uint32_t client = 1) {
    const std::uint16_t status = r.ssd().check(r.io(5, 0, 1, write, client), known).status;
    CHECK(status == r.ssd().check(r.io(5, 0, 1, write, client)).status);
    return status;
  };
  CHECK(check(true) == 0);
  CHECK(known.slot != nullptr);
  CHECK(check(true) == 0);
  CHECK(check(true, 2) == afa(status::not_permitted));
  CHECK(check(true) == 0);
  wire::afa::volume_chmod change{};
  change.version = wire::afa::payload_version;
  change.vid = 5;
  change.client_count = 1;
  change.clients[0] = {1, wire::afa::right_read};
  REQUIRE(r.ssd().volume_chmod(1, change) == 0);
  CHECK(check(true) == afa(status::not_permitted));
  CHECK(check(false) == 0);
  const std::uint32_t generation = known.generation;
  REQUIRE(r.ssd().volume_delete(1, volume_id(5)) == 0);
  CHECK(check(false) == afa(status::unknown_volume));
  REQUIRE(r.ssd().volume_add(1, volume(5, 100)) == 0);
  CHECK(check(false) == 0);
  CHECK(known.generation != generation);
}

TEST_CASE("a change of rights happens entirely or not at all") {
  rig r(small);
  REQUIRE(r.ssd().volume_add(1, volume(5, 100)) == 0);
  wire::afa::volume_chmod change{};
  change.version = wire::afa::payload_version;
  change.vid = 6;
  CHECK(r.ssd().volume_chmod(1, change) == afa(status::unknown_volume));
  change.vid = 5;
  change.version = 9;
  CHECK(r.ssd().volume_chmod(1, change) == afa(status::bad_payload_version));
  change.version = wire::afa::payload_version;

  SUBCASE("a second writer is refused, and the reader listed beside it gets nothing") {
    change.client_count = 2;
    change.clients[0] = {3, wire::afa::right_read};
    change.clients[1] = {2, wire::afa::right_write};
    CHECK(r.ssd().volume_chmod(1, change) == afa(status::writer_exists));
    CHECK(r.ssd().check(r.io(5, 0, 1, false, 3)).status == afa(status::not_permitted));
    CHECK(r.ssd().check(r.io(5, 0, 1, true, 1)).ok());
  }
  SUBCASE("the write right moves from one client to another in one change") {
    change.client_count = 2;
    change.clients[0] = {1, wire::afa::right_read};
    change.clients[1] = {2, wire::afa::right_read | wire::afa::right_write};
    REQUIRE(r.ssd().volume_chmod(1, change) == 0);
    CHECK(r.ssd().check(r.io(5, 0, 1, true, 1)).status == afa(status::not_permitted));
    CHECK(r.ssd().check(r.io(5, 0, 1, true, 2)).ok());
  }
  SUBCASE("no rights removes a client") {
    change.client_count = 1;
    change.clients[0] = {2, 0};
    REQUIRE(r.ssd().volume_chmod(1, change) == 0);
    CHECK(r.ssd().check(r.io(5, 0, 1, false, 2)).status == afa(status::not_permitted));
    wire::afa::volume_list list{};
    REQUIRE(r.ssd().volume_list(1, volume_id(0), list) == 0);
    CHECK(list.records[0].client_count == 1);
  }
  SUBCASE("the client after the last that there is room for is refused") {
    constexpr std::uint16_t room = wire::afa::max_volume_clients - 2;
    change.client_count = room + 1;
    for (std::uint16_t k = 0; k < room + 1; ++k)
      change.clients[k] = {static_cast<std::uint16_t>(100 + k), 1};
    CHECK(r.ssd().volume_chmod(1, change) == afa(status::too_many_clients));
    CHECK(r.ssd().check(r.io(5, 0, 1, false, 100)).status == afa(status::not_permitted));
    change.client_count = room;
    CHECK(r.ssd().volume_chmod(1, change) == 0);
    CHECK(r.ssd().check(r.io(5, 0, 1, false, 100 + room - 1)).ok());
  }
}

TEST_CASE(
    "a full permission table refuses the next volume, and lists all in order over several "
    "answers") {
  rig r(small);
  for (std::uint16_t k = 0; k < 40; ++k) {
    REQUIRE(r.ssd().volume_add(1, volume(static_cast<std::uint16_t>(1 + k * 37 % 41 * 100), 10)) ==
            0);
  }
  CHECK(r.ssd().volume_add(1, volume(50, 10)) == afa(status::too_many_volumes));
  wire::afa::volume_list list{};
  std::vector<std::uint16_t> vids;
  std::uint16_t from = 0;
  for (int answer = 0; answer < 4; ++answer) {
    REQUIRE(r.ssd().volume_list(1, volume_id(from), list) == 0);
    CHECK(list.total == (answer == 0 ? 40 : 0));
    for (std::uint32_t k = 0; k < list.count; ++k) vids.push_back(list.records[k].vid);
    from = list.next_vid;
    CHECK((from == 0) == (answer == 3));
  }
  REQUIRE(vids.size() == 40);
  // From anywhere, also where nobody is for long, and behind the last one.
  for (const std::uint16_t at : {2, 900, 1001, 3990, 4001, 4002, 65535}) {
    REQUIRE(r.ssd().volume_list(1, volume_id(at), list) == 0);
    const auto here = std::lower_bound(vids.begin(), vids.end(), at);
    const auto rest = static_cast<std::size_t>(vids.end() - here);
    CHECK(list.count == std::min<std::size_t>(rest, wire::afa::volume_list_records));
    for (std::uint32_t k = 0; k < list.count; ++k) CHECK(list.records[k].vid == here[k]);
  }
  for (std::size_t k = 1; k < vids.size(); ++k) CHECK(vids[k - 1] < vids[k]);
  REQUIRE(r.ssd().volume_delete(1, volume_id(vids[7])) == 0);
  CHECK(r.ssd().volume_add(1, volume(50, 10)) == 0);
}
