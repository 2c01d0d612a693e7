/// Epochs, who serves in them, and filling an SSD with what it lacks.

#include "power_model.hpp"
#include "rig.hpp"
#include <deengine/page_crc.hpp>

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::status;

namespace {

const fw::geometry shape{.pages = 512, .shards = 2, .pages_per_block = 16, .max_volumes = 4};
constexpr std::uint32_t version = wire::afa::payload_version;

/// The writer, a reader, and one who may read and fill.
record filled_volume() {
  record v = volume(1, 100);
  v.client_count = 3;
  v.clients[2] = {3, wire::afa::right_read | wire::afa::right_fill};
  return v;
}

fw::admission admit(rig& r, std::uint32_t first, std::uint32_t blocks, std::uint16_t client = 1) {
  fw::request q = r.io(1, first, blocks, true, client);
  q.fill = client == 3;
  return r.ssd().check(q);
}
void store(rig& r, std::uint32_t page, std::uint64_t stamp) {
  r.fill(page, stamp);
  r.ssd().seal(page, gnstor::detail::page_crc_alone(r.ssd().page(page)));
}
/// A whole Fill: block k gets the stamp plus k, where it is taken.
std::uint16_t fill(rig& r, std::uint32_t first, std::uint32_t blocks, std::uint64_t stamp,
                   bool unreadable = false) {
  const fw::admission a = admit(r, first, blocks, 3);
  if (!a.ok()) return a.status;
  std::uint32_t pages[16];
  REQUIRE(r.take(a, pages) == 0);
  for (std::uint32_t k = 0; k < blocks; ++k) store(r, pages[k], stamp + k);
  return r.ssd().commit_fill(a, {client_id(3), r.ssd().epoch()}, pages, unreadable);
}

}  // namespace

TEST_CASE("an epoch names who serves, goes forward only, and survives a power cut") {
  rig r(shape);
  CHECK(r.ssd().membership().absent == 0);
  CHECK(r.ssd().array_update({version + 1, 2, 0, 0}) == afa(status::bad_payload_version));
  CHECK(r.ssd().array_update({version, 2, 4, 0}) == afa(status::bad_payload));
  CHECK(r.ssd().array_update({version, 2, 0, 4}) == afa(status::bad_payload));
  CHECK(r.ssd().array_update({version, 2, 2, 2}) == afa(status::bad_payload));
  CHECK(r.ssd().array_update({version, 1, 2, 0}) == afa(status::stale_epoch));
  CHECK(r.ssd().array_update({version, 1, 0, 0}) == 0);
  CHECK(r.ssd().epoch() == 1);
  REQUIRE(r.ssd().array_update({version, 7, 2, 0}) == 0);
  CHECK(r.ssd().array_update({version, 7, 2, 0}) == 0);
  CHECK(r.ssd().array_update({version, 7, 0, 0}) == afa(status::stale_epoch));
  CHECK(r.ssd().array_update({version, 6, 0, 0}) == afa(status::stale_epoch));
  REQUIRE(r.ssd().array_update({version, 9, 0, 2}) == 0);
  REQUIRE(power_model{}.cut(r.meta(), r.data.data()));
  REQUIRE(fw::recover(r.meta(), r.meta_bytes(), r.shape, r.who) == fw::mount_status::ok);
  CHECK(r.ssd().epoch() == 9);
  CHECK(r.ssd().membership().filling == 2);
}

TEST_CASE("a cut between the words of a new epoch leaves the old epoch or the new one") {
  rig r(shape);
  REQUIRE(r.ssd().array_update({version, 5, 2, 0}) == 0);
  const fw::metadata_header before = r.ssd().parts().header();
  REQUIRE(r.ssd().array_update({version, 7, 0, 2}) == 0);
  const fw::metadata_header after = r.ssd().parts().header();
  const std::uint32_t other = after.membership_at(7);
  for (std::uint32_t words = 0; words <= 4; ++words) {
    CAPTURE(words);
    fw::metadata_header& header = r.ssd().parts().header();
    header = before;
    std::memcpy(&header.membership[other], &after.membership[other], words < 4 ? 8 * words : 24);
    if (words == 4) header.epoch = 7;
    REQUIRE(fw::recover(r.meta(), r.meta_bytes(), r.shape, r.who) == fw::mount_status::ok);
    CHECK(r.ssd().epoch() == (words >= 3 ? 7 : 5));
    CHECK(r.ssd().membership().absent == (words >= 3 ? 0 : 2));
  }
  r.ssd().parts().header().membership[0].check ^= 1;
  r.ssd().parts().header().membership[1].check ^= 1;
  CHECK(fw::recover(r.meta(), r.meta_bytes(), r.shape, r.who) == fw::mount_status::damaged);
}

TEST_CASE("an SSD that stands in takes the blocks of that place alone, after a power cut, too") {
  rig r(shape);
  constexpr std::uint32_t with = wire::afa::version_with_others;
  const auto others = wire::afa::stand_ins{}.with(1, 0);
  record v = volume(1, 100);
  v.replicas = 1;
  v.ssd_count = 2;
  REQUIRE(r.ssd().volume_add(1, v) == 0);
  CHECK(r.ssd().array_update({version, 2, 2, 0}, others) == afa(status::bad_payload_version));
  CHECK(r.ssd().array_update({with, 2, 2, 0}) == afa(status::bad_payload_version));
  CHECK(r.ssd().array_update({with, 2, 2, 0}, wire::afa::stand_ins{}.with(5, 0)) ==
        afa(status::bad_payload));
  REQUIRE(r.ssd().array_update({with, 2, 2, 0}, others) == 0);
  CHECK(r.ssd().array_update({version, 2, 2, 0}) == afa(status::stale_epoch));
  for (int cuts = 0; cuts < 2; ++cuts) {
    CHECK(r.ssd().others() == others);
    for (std::uint32_t block = 0; block < 100; ++block) {
      const bool belongs = rendezvous_placement(2).holds(volume_id(1), v.hash_factor,
                                                         block / v.stripe_blocks, 1, ssd_index(1));
      CHECK(admit(r, block, 1).ok() == belongs);
    }
    REQUIRE(power_model{}.cut(r.meta(), r.data.data()));
    REQUIRE(fw::recover(r.meta(), r.meta_bytes(), r.shape, r.who) == fw::mount_status::ok);
  }
  REQUIRE(r.ssd().array_update({version, 3, 0, 0}) == 0);
  CHECK(!r.ssd().others().any());
}

TEST_CASE("what was admitted in an epoch is not committed in the next") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 100)) == 0);
  REQUIRE(r.write(1, 0, 1, 100) == 0);
  const fw::admission a = admit(r, 0, 1);
  std::uint32_t page = 0;
  REQUIRE(r.take(a, &page) == 0);
  r.fill(page, 200);
  REQUIRE(r.ssd().array_update({version, 2, 2, 0}) == 0);
  CHECK_FALSE(r.ssd().commits_simply(a));
  bool again = false;
  CHECK(r.ssd().commit(a, {client_id(1), 1}, &page, again) == afa(status::stale_epoch));
  CHECK(r.read(1, 0) == 100);
  CHECK(r.ssd().check(io_request(1, 0, 1, true)).status == afa(status::stale_epoch));
  // Nor is what it would have deallocated.
  CHECK(r.ssd().deallocate(a, {client_id(1), 1}) == afa(status::stale_epoch));
  CHECK(r.read(1, 0) == 100);
}

TEST_CASE("nobody reads from an SSD that is being filled; in the next epoch they do") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 100)) == 0);
  REQUIRE(r.ssd().array_update({version, 2, 0, 1}) == 0);
  CHECK(r.ssd().is_filling());
  REQUIRE(r.write(1, 0, 1, 100) == 0);
  CHECK(r.ssd().check(r.io(1, 0, 1, false)).status == afa(status::rebuilding));
  CHECK(r.ssd().check(io_request(1, 0, 1, false)).status == afa(status::stale_epoch));
  REQUIRE(fw::recover(r.meta(), r.meta_bytes(), r.shape, r.who) == fw::mount_status::ok);
  CHECK(r.ssd().check(r.io(1, 0, 1, false)).status == afa(status::rebuilding));
  REQUIRE(r.ssd().array_update({version, 3, 0, 0}) == 0);
  CHECK(r.read(1, 0) == 100);
}

TEST_CASE("nobody reads from an SSD that is absent in its own epoch: it has nothing yet") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 100)) == 0);
  REQUIRE(r.ssd().array_update({version, 2, 1, 0}) == 0);
  CHECK(r.ssd().check(r.io(1, 0, 1, false)).status == afa(status::rebuilding));
  REQUIRE(fw::recover(r.meta(), r.meta_bytes(), r.shape, r.who) == fw::mount_status::ok);
  CHECK(r.ssd().check(r.io(1, 0, 1, false)).status == afa(status::rebuilding));
  REQUIRE(r.ssd().array_update({version, 3, 0, 1}) == 0);
  CHECK(r.ssd().check(r.io(1, 0, 1, false)).status == afa(status::rebuilding));
  REQUIRE(r.ssd().array_update({version, 4, 0, 0}) == 0);
  CHECK(r.read(1, 0) == 0);
}

TEST_CASE("a Fill gives an SSD what it lacks or has damaged, and changes nothing else") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, filled_volume()) == 0);
  fw::request right_missing = r.io(1, 0, 1, true, 1);
  right_missing.fill = true;
  CHECK(r.ssd().check(right_missing).status == afa(status::not_permitted));
  CHECK(r.ssd().check(r.io(1, 0, 1, true, 3)).status == afa(status::not_permitted));
  for (std::uint32_t b : {1u, 2u}) {  // two blocks of four
    const fw::admission a = admit(r, b, 1);
    std::uint32_t page = 0;
    REQUIRE(r.take(a, &page) == 0);
    store(r, page, 100 + b);
    REQUIRE(r.commit(a, &page) == 0);
    if (b == 2) static_cast<char*>(r.ssd().page(page))[77] ^= 1;
  }
  const std::uint32_t free_before = r.free_pages();
  REQUIRE(fill(r, 0, 1, 150) == 0);  // in sync: it was deallocated
  CHECK(r.read(1, 0) == 0);
  REQUIRE(r.ssd().array_update({version, 2, 0, 1}) == 0);
  REQUIRE(fill(r, 0, 4, 200) == 0);
  REQUIRE(r.ssd().array_update({version, 3, 0, 0}) == 0);
  CHECK(r.read(1, 0) == 200);
  CHECK(r.read(1, 1) == 101);
  CHECK(r.read(1, 2) == 202);
  CHECK(r.read(1, 3) == 203);
  REQUIRE(r.ssd().array_update({version, 4, 0, 1}) == 0);
  REQUIRE(fill(r, 0, 4, 300) == 0);
  REQUIRE(r.ssd().array_update({version, 5, 0, 0}) == 0);
  CHECK(r.read(1, 2) == 202);
  r.tend();
  CHECK(r.free_pages() + 2 * shape.pages_per_block >= free_before);
  REQUIRE(fw::recover(r.meta(), r.meta_bytes(), r.shape, r.who) == fw::mount_status::ok);
  for (std::uint32_t b = 0; b < 4; ++b) CHECK(r.read(1, b) == (b == 1 ? 101 : 200 + b));
  // Where nobody has what a block held it must not read as zeroes, nor hide what is there.
  REQUIRE(r.ssd().array_update({version, 6, 0, 1}) == 0);
  REQUIRE(fill(r, 3, 2, 400, true) == 0);
  REQUIRE(r.ssd().array_update({version, 7, 0, 0}) == 0);
  CHECK(r.read(1, 3) == 203);
  std::uint32_t page = 0;
  r.ssd().lookup(r.ssd().check(r.io(1, 4, 1, false)), &page);
  REQUIRE(page != engine::no_page);
  CHECK(r.ssd().seal_of(page) != gnstor::detail::page_crc_alone(r.ssd().page(page)));
}

TEST_CASE("a Forget takes blocks from an SSD that lacks others, for good, and marks them") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, filled_volume()) == 0);
  const auto write = [&](std::uint32_t block, std::uint64_t stamp) {
    const fw::admission a = admit(r, block, 1);
    std::uint32_t page = 0;
    REQUIRE(r.take(a, &page) == 0);
    store(r, page, stamp);
    REQUIRE(r.commit(a, &page) == 0);
  };
  for (std::uint32_t b = 0; b < 4; ++b) write(b, 100 + b);
  r.clean(1);
  const auto forget = [&](std::uint32_t first, std::uint32_t blocks, std::uint16_t client = 3) {
    fw::request q = r.io(1, first, blocks, true, client);
    q.fill = true;
    const fw::admission a = r.ssd().check(q);
    return a.ok() ? r.ssd().deallocate(a, {client_id(client), r.ssd().epoch()}, true) : a.status;
  };
  CHECK(forget(0, 2) == afa(status::not_permitted));  // it is in sync: nobody takes what it has
  CHECK(forget(0, 2, 1) == afa(status::not_permitted));
  CHECK(r.read(1, 0) == 100);
  CHECK_FALSE(r.dirty(1).holds(0));

  REQUIRE(r.ssd().array_update({version, 2, 1, 0}) == 0);  // absent, as one that is back
  CHECK(forget(0, 2, 1) == afa(status::not_permitted));
  REQUIRE(forget(0, 2) == 0);
  CHECK(r.dirty(1).holds(0));
  const std::uint32_t stripe = filled_volume().stripe_blocks;
  REQUIRE(forget(stripe, 1) == 0);  // of what it never had somebody else's block is marked, too
  CHECK(r.dirty(1).holds(1));
  r.mount();
  REQUIRE(r.ssd().array_update({version, 3, 0, 1}) == 0);
  write(1, 300);
  REQUIRE(fill(r, 0, 4, 200) == 0);
  REQUIRE(r.ssd().array_update({version, 4, 0, 0}) == 0);
  CHECK(r.read(1, 0) == 200);  // what it forgot is given to it
  CHECK(r.read(1, 1) == 300);  // unless a client has written it since
  CHECK(r.read(1, 2) == 102);
  CHECK(r.read(1, 3) == 103);
}
