/// Firmware that works on a copy of its metadata and is killed at any store: flash alone is left.
// label: thorough
// not under tsan: one lane works

#include "killed_copy.hpp"
#include "lost_ssd.hpp"

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("firmware that works on a copy is killed at any store: flash has all that was done") {
  lives_lose_nothing<killed_copy>("kills");
}

TEST_CASE("an epoch is in flash before anybody serves in it") {
  constexpr std::uint32_t version = wire::afa::payload_version;
  std::uint32_t before = 0;
  std::uint32_t after = 0;
  for (std::uint32_t fuse = 1; fuse < 60; ++fuse) {
    CAPTURE(fuse);
    simt::host::lone_lane lane;
    rig r(lost_ssd<killed_copy>::shape);
    killed_copy copy;
    copy.begin(r);
    REQUIRE(r.ssd().array_update({version, 2, 2, 0}) == 0);
    lane.set_fuse(fuse);
    bool done = false;
    std::uint32_t seen = 0;
    try {
      done = r.ssd().array_update({version, 5, 0, 2}) == 0;
    } catch (const simt::host::lone_lane::fuse_blown&) {
      lane.set_fuse(0);
      seen = r.ssd().epoch();
    }
    lane.set_fuse(0);
    copy.lose(r);
    r.mount();
    const fw::membership_record m = r.ssd().membership();
    CHECK((m.epoch == 2 || m.epoch == 5));
    CHECK(m.epoch >= seen);
    CHECK(m.absent == (m.epoch == 2 ? 2 : 0));
    CHECK(m.filling == (m.epoch == 2 ? 0 : 2));
    CHECK((!done || m.epoch == 5));
    (m.epoch == 2 ? before : after) += 1;
  }
  CHECK(before >= 2);
  CHECK(after > 30);
}

TEST_CASE("what was filled is in flash") {
  rig r(lost_ssd<killed_copy>::shape);
  killed_copy copy;
  copy.begin(r);
  record v = volume(1, 96, 8);
  v.clients[1] = {2, wire::afa::right_read | wire::afa::right_fill};
  REQUIRE(r.ssd().volume_add(1, v) == 0);
  REQUIRE(r.ssd().array_update({wire::afa::payload_version, 2, 0, 1}) == 0);
  fw::request q = r.io(1, 8, 5, true, 2);
  q.fill = true;
  const fw::admission a = r.ssd().check(q);
  REQUIRE(a.ok());
  std::uint32_t pages[8];
  REQUIRE(r.take(a, pages) == 0);
  for (std::uint32_t k = 0; k < a.blocks; ++k) {
    r.fill(pages[k], 50 + k);
    r.ssd().seal(pages[k], 50 + k);
  }
  REQUIRE(r.ssd().commit_fill(a, {client_id(2), 2}, pages, false) == 0);
  copy.lose(r);
  r.mount();
  REQUIRE(r.ssd().is_filling());
  REQUIRE(r.ssd().array_update({wire::afa::payload_version, 3, 0, 0}) == 0);
  for (std::uint32_t b = 0; b < 16; ++b) CHECK(r.read(1, b) == (b >= 8 && b < 13 ? 50 + b - 8 : 0));
}

TEST_CASE("a kill at any store of a volume's first record leaves an SSD that mounts") {
  for (const bool copied : {false, true}) {
    for (std::uint16_t n = 0; n < 3; ++n) {
      CAPTURE(copied);
      CAPTURE(n);
      std::uint32_t kills = 0;
      for (bool done = false; !done;) {
        simt::host::lone_lane lane;
        rig r(lost_ssd<killed_copy>::shape);
        killed_copy copy;
        if (copied) copy.begin(r);
        for (std::uint16_t v = 1; v <= n; ++v)
          REQUIRE(r.ssd().volume_add(1, volume(v, 96, 8)) == 0);
        const auto next = static_cast<std::uint16_t>(n + 1);
        lane.set_fuse(++kills);
        try {
          done = r.ssd().volume_add(1, volume(next, 96, 8)) == 0;
        } catch (const simt::host::lone_lane::fuse_blown&) {
        }
        lane.set_fuse(0);
        if (copied) copy.lose(r);
        r.mount();
        for (std::uint16_t v = 1; v <= n; ++v) CHECK(r.ssd().check(r.io(v, 0, 1, false)).ok());
        CHECK((!done || r.ssd().check(r.io(next, 0, 1, false)).ok()));
        REQUIRE(r.ssd().volume_add(1, volume(9, 96, 8)) == 0);  // in whatever slot is free
        CHECK(r.write(9, 0, 4, 7) == 0);
      }
      CHECK(kills > 30);
    }
  }
}

TEST_CASE("a commit on a copy is never the simple one, which tells flash nothing") {
  rig r(lost_ssd<killed_copy>::shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 96, 8)) == 0);
  REQUIRE(r.write(1, 0, 8, 1) == 0);
  REQUIRE(r.deallocate(r.ssd().check(r.io(1, 0, 8, true))) == 0);  // the shard has credit now
  CHECK(r.ssd().commits_simply(r.ssd().check(r.io(1, 0, 1, true))));
  killed_copy copy;
  copy.begin(r);
  CHECK_FALSE(r.ssd().commits_simply(r.ssd().check(r.io(1, 0, 1, true))));
}
