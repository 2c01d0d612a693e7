/// What an SSD makes of a volume that is spread over more SSDs than before.

#include "killed_copy.hpp"
#include "power_model.hpp"
#include "rig.hpp"

#include <random>

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::status;
using wire::afa::volume_spread;

namespace {

constexpr fw::geometry four_ssds{
    .pages = 1024, .shards = 2, .pages_per_block = 16, .max_volumes = 4};
constexpr std::uint32_t capacity = 320;
constexpr std::uint32_t stripe = 4;

/// SSD 0 of four; its volumes are spread over the first two of them.
struct grown : rig {
  grown() : rig(four_ssds) {
    who.ssd_count = 4;
    REQUIRE(fw::format(meta(), meta_bytes(), shape, who) == fw::mount_status::ok);
    record v = volume(1, capacity, stripe);
    v.ssd_count = 2;
    REQUIRE(ssd().volume_add(1, v) == 0);
    for (std::uint32_t b = 0; b < capacity; b += stripe) REQUIRE(write(1, b, stripe, 100 + b) == 0);
  }
  std::uint16_t spread(std::uint32_t ssd_count, volume_spread how) {
    wire::afa::volume_chmod change{};
    change.version = wire::afa::payload_version;
    change.vid = 1;
    change.ssd_count = ssd_count;
    change.spread = how;
    return ssd().volume_chmod(1, change);
  }
  bool belongs(std::uint32_t block, std::uint32_t ssd_count) const {
    return rendezvous_placement(ssd_count).holds(volume_id(1), 77, block / stripe, 2, ssd_index(0));
  }
  /// The page that is mapped for a block, whether or not it belongs here.
  std::uint32_t mapped(std::uint32_t block) {
    fw::admission a;
    a.vid = volume_id(1);
    a.shard = ssd().shard_of(a.vid, block / stripe);
    a.generation = 1;
    a.first = vba(block);
    a.blocks = 1;
    std::uint32_t page = 0;
    ssd().lookup(a, &page);
    if (page != engine::no_page) ssd().unpin(page);
    return page;
  }
  /// Every block that belongs here by `ssd_count` SSDs is there; the others are as `kept` says.
  void check(std::uint32_t ssd_count, bool kept) {
    std::uint32_t moved = 0;
    for (std::uint32_t b = 0; b < capacity; ++b) {
      CAPTURE(b);
      const bool here = belongs(b, ssd_count);
      moved += here ? 0 : 1;
      REQUIRE((mapped(b) != engine::no_page) == (here || kept));
      if (here) REQUIRE(read(1, b) == 100 + b);
    }
    REQUIRE(moved > capacity / 5);
  }
};

}  // namespace

TEST_CASE("a volume is spread over one SSD more, and in order") {
  grown r;
  CHECK(r.spread(0, volume_spread::moved) == afa(status::bad_payload));
  CHECK(r.spread(3, volume_spread::whole) == afa(status::bad_payload));
  CHECK(r.spread(3, volume_spread::joining) == afa(status::bad_payload));
  CHECK(r.spread(3, volume_spread::dropping) == afa(status::bad_payload));
  CHECK(r.spread(4, volume_spread::moved) == afa(status::bad_payload));  // one at a time
  CHECK(r.spread(1, volume_spread::moved) == afa(status::bad_payload));
  CHECK(r.spread(3, volume_spread(4)) == afa(status::bad_payload));
  REQUIRE(r.spread(3, volume_spread::moved) == 0);
  CHECK(r.spread(3, volume_spread::moved) == 0);  // twice
  CHECK(r.spread(2, volume_spread::moved) == afa(status::bad_payload));
  CHECK(r.spread(4, volume_spread::moved) == afa(status::bad_payload));  // not all know of 3
  CHECK(r.spread(4, volume_spread::dropping) == afa(status::bad_payload));
  REQUIRE(r.spread(3, volume_spread::dropping) == 0);
  CHECK(r.spread(3, volume_spread::dropping) == 0);
  REQUIRE(r.spread(3, volume_spread::moved) == 0);  // another manager, which knows less
  REQUIRE(r.spread(3, volume_spread::dropping) == 0);
  REQUIRE(r.spread(4, volume_spread::moved) == 0);
  REQUIRE(r.spread(4, volume_spread::dropping) == 0);
  CHECK(r.spread(5, volume_spread::moved) == afa(status::bad_payload));  // there is none
  wire::afa::volume_list all{};
  REQUIRE(r.ssd().volume_list(1, volume_id(1), all) == 0);
  CHECK(all.records[0].ssd_count == 4);
  CHECK(all.records[0].spread == volume_spread::dropping);
  record bad = volume(2, 10);
  bad.spread = volume_spread(7);
  CHECK(r.ssd().volume_add(1, bad) == afa(status::bad_payload));
}

TEST_CASE("what belongs elsewhere is refused to writers at once, and dropped when all know") {
  grown r;
  const std::uint32_t before = r.free_pages();
  REQUIRE(r.spread(3, volume_spread::moved) == 0);
  for (std::uint32_t b = 0; b < capacity; b += stripe) {
    const fw::admission a = r.ssd().check(r.io(1, b, 1, true));
    CHECK(a.status == (r.belongs(b, 3) ? 0 : afa(status::wrong_ssd)));
  }
  r.tend();
  r.check(3, true);
  REQUIRE(r.spread(3, volume_spread::dropping) == 0);
  r.tend();
  r.check(3, false);
  for (std::uint32_t b = 0; b < capacity; b += stripe) {
    const fw::admission a = r.ssd().check(r.io(1, b, 1, false));
    CHECK(a.status == (r.belongs(b, 3) ? 0 : afa(status::wrong_ssd)));
  }
  // The room comes back to others.
  CHECK(r.free_pages() >= before);
  REQUIRE(r.ssd().volume_add(1, volume(2, capacity, stripe)) == 0);
  for (std::uint32_t b = 0; b < capacity; b += stripe)
    REQUIRE((!rendezvous_placement(4).holds(volume_id(2), 77, b / stripe, 2, ssd_index(0)) ||
             r.write(2, b, stripe, 5000 + b) == 0));
  r.check(3, false);
}

TEST_CASE("power that goes while a volume is spread leaves what is needed") {
  for (const bool drops : {false, true}) {
    for (const bool swept : {false, true}) {
      CAPTURE(drops);
      CAPTURE(swept);
      grown r;
      REQUIRE(r.spread(3, volume_spread::moved) == 0);
      if (drops) REQUIRE(r.spread(3, volume_spread::dropping) == 0);
      if (swept) r.tend();
      REQUIRE(power_model{}.cut(r.meta(), r.data.data()));
      r.mount();
      r.check(3, !drops);
    }
  }
}

TEST_CASE("what moves is dropped though garbage is collected meanwhile") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    grown r;
    record full = volume(2, 520, stripe);
    full.ssd_count = 2;  // all of it is here, and there is little room beside
    REQUIRE(r.ssd().volume_add(1, full) == 0);
    for (std::uint32_t b = 0; b < 520; b += stripe) REQUIRE(r.write(2, b, stripe, 5000 + b) == 0);
    REQUIRE(r.spread(3, volume_spread::moved) == 0);
    REQUIRE(r.spread(3, volume_spread::dropping) == 0);
    std::mt19937 random(seed);
    bool more = true;
    for (std::uint32_t rounds = 0; more && rounds < 20'000; ++rounds) {
      REQUIRE(r.write(2, static_cast<std::uint32_t>(random() % 520), 1, 10'000 + rounds) == 0);
      more = random() % 4 != 0;
      for (std::uint32_t s = 0; s < r.shape.shards && !more; ++s) more = r.ssd().tend(s, 1);
    }
    CHECK_FALSE(more);
    r.tend();
    r.check(3, false);
  }
}

TEST_CASE("firmware on a copy tells flash of a spread, too") {
  grown r;
  killed_copy copy;
  copy.begin(r);
  r.seals = false;
  REQUIRE(r.spread(3, volume_spread::moved) == 0);
  REQUIRE(r.spread(3, volume_spread::dropping) == 0);
  r.tend();
  copy.lose(r);
  r.mount();
  r.check(3, false);
}

TEST_CASE("what one spread has dropped does not come back with the next") {
  grown r;
  REQUIRE(r.spread(3, volume_spread::moved) == 0);
  REQUIRE(r.spread(3, volume_spread::dropping) == 0);
  r.tend();
  REQUIRE(r.spread(4, volume_spread::moved) == 0);
  REQUIRE(power_model{}.cut(r.meta(), r.data.data()));
  r.mount();
  // What the fourth SSD takes is kept.
  for (std::uint32_t b = 0; b < capacity; ++b)
    REQUIRE((r.mapped(b) != engine::no_page) == r.belongs(b, 3));
}

TEST_CASE("an SSD that joins keeps its share through a power cut, however far the spread is") {
  for (const volume_spread far :
       {volume_spread::joining, volume_spread::moved, volume_spread::dropping}) {
    CAPTURE(static_cast<std::uint32_t>(far));
    rig r(four_ssds);
    r.who.self = 2;
    r.who.ssd_count = 4;
    REQUIRE(fw::format(r.meta(), r.meta_bytes(), r.shape, r.who) == fw::mount_status::ok);
    record v = volume(1, capacity, stripe);
    v.ssd_count = 3;
    v.spread = far;
    REQUIRE(r.ssd().volume_add(1, v) == 0);
    std::uint32_t share = 0;
    const auto belongs = [](std::uint32_t b) {
      return rendezvous_placement(3).holds(volume_id(1), 77, b / stripe, 2, ssd_index(2));
    };
    for (std::uint32_t b = 0; b < capacity; b += stripe) {
      if (belongs(b)) REQUIRE(r.write(1, b, stripe, 100 + b) == 0);
      share += belongs(b) ? 1 : 0;
    }
    REQUIRE(share > 10);
    REQUIRE(power_model{}.cut(r.meta(), r.data.data()));
    r.mount();
    r.tend();
    for (std::uint32_t b = 0; b < capacity; ++b) {
      if (belongs(b)) REQUIRE(r.read(1, b) == 100 + b);
    }
  }
}

TEST_CASE("an SSD that gathers takes what will belong to it, and keeps it over a power cut") {
  for (const bool spread_before : {false, true}) {
    grown r;
    if (spread_before) {  // what it drops then comes back
      REQUIRE(r.spread(3, volume_spread::moved) == 0);
      REQUIRE(r.spread(3, volume_spread::dropping) == 0);
      r.tend();
    } else {
      REQUIRE(r.ssd().volume_delete(1, volume_id(1)) == 0);
      record v = volume(1, capacity, stripe);
      v.ssd_count = 3;
      REQUIRE(r.ssd().volume_add(1, v) == 0);
      for (std::uint32_t b = 0; b < capacity; b += stripe)
        if (r.belongs(b, 3)) REQUIRE(r.write(1, b, stripe, 100 + b) == 0);
    }
    std::uint32_t gathered = 0;
    for (std::uint32_t b = 0; b < capacity; b += stripe) {
      const fw::admission a = r.ssd().check(r.io(1, b, 1, true));
      CHECK(a.status == (r.belongs(b, 3) ? 0 : afa(status::wrong_ssd)));
    }
    REQUIRE(r.spread(3, volume_spread::gathering) == 0);
    for (std::uint32_t b = 0; b < capacity; b += stripe) {
      CAPTURE(b);
      REQUIRE(r.belongs(b, 2));  // there are two replicas
      CHECK(r.ssd().check(r.io(1, b, 1, true)).status == 0);
      if (r.belongs(b, 3)) continue;
      ++gathered;
      REQUIRE(r.write(1, b, stripe, 7000 + b) == 0);
    }
    REQUIRE(gathered > 10);
    r.tend();  // nothing is dropped
    REQUIRE(power_model{}.cut(r.meta(), r.data.data()));
    r.mount();
    REQUIRE(r.spread(2, volume_spread::moved) == 0);
    REQUIRE(r.spread(2, volume_spread::dropping) == 0);
    r.tend();
    REQUIRE(power_model{}.cut(r.meta(), r.data.data()));
    r.mount();
    for (std::uint32_t b = 0; b < capacity; b += stripe) {
      CAPTURE(b);
      CHECK(r.read(1, b) == (r.belongs(b, 3) ? 100 + b : 7000 + b));
    }
  }
}

TEST_CASE("what the SSD that a volume leaves had marked is dirty on those that stay") {
  grown r;
  REQUIRE(r.spread(3, volume_spread::moved) == 0);
  REQUIRE(r.spread(3, volume_spread::dropping) == 0);
  r.tend();
  r.clean(1);
  REQUIRE(r.spread(3, volume_spread::gathering) == 0);
  const auto dirty = [&] {
    const wire::afa::dirty_regions all = r.dirty(1);
    std::uint32_t n = 0;
    for (std::uint32_t k = 0; k < wire::afa::dirty_region_count; ++k) n += all.holds(k) ? 1 : 0;
    return n;
  };
  CHECK(dirty() == 0);
  REQUIRE(r.spread(2, volume_spread::moved) == 0);
  CHECK(dirty() == wire::afa::dirty_region_count);  // it went with them
  REQUIRE(power_model{}.cut(r.meta(), r.data.data()));
  r.mount();
  CHECK(dirty() == wire::afa::dirty_region_count);
  REQUIRE(r.spread(2, volume_spread::dropping) == 0);
  r.tend();
  r.clean(1);
  CHECK(dirty() == 0);
}

TEST_CASE("the manager writes what an SSD gathers beside a writer, and nothing else") {
  grown r;
  REQUIRE(r.spread(3, volume_spread::moved) == 0);
  wire::afa::volume_chmod filler{};
  filler.version = wire::afa::payload_version;
  filler.vid = 1;
  filler.client_count = 1;
  filler.clients[0] = {9, wire::afa::right_read | wire::afa::right_fill};
  REQUIRE(r.ssd().volume_chmod(1, filler) == 0);
  const auto asked = [&](std::uint32_t b) { return r.ssd().check(r.io(1, b, 1, true, 9)); };
  for (std::uint32_t b = 0; b < capacity; b += stripe)
    CHECK(asked(b).status == afa(status::not_permitted));
  REQUIRE(r.spread(3, volume_spread::dropping) == 0);
  REQUIRE(r.spread(3, volume_spread::gathering) == 0);
  wire::afa::volume_chmod hold{};
  hold.version = wire::afa::payload_version;
  hold.vid = 1;
  hold.sets = wire::afa::volume_chmod::sets_hold;
  hold.held_until = 2;
  for (const bool held : {false, true}) {
    if (held) REQUIRE(r.ssd().volume_chmod(1, hold) == 0);
    std::uint32_t gathered = 0;
    for (std::uint32_t b = 0; b < capacity; b += stripe) {
      CAPTURE(b);
      const fw::admission a = asked(b);
      CHECK(a.status == (r.belongs(b, 3) ? afa(status::not_permitted) : 0));
      if (!a.ok()) continue;
      ++gathered;
      std::uint32_t page = 0;
      bool again = false;
      REQUIRE(r.take(a, &page) == 0);
      r.fill(page, 500 + b);
      // Asked again, as what the volume's clients may do has changed since.
      REQUIRE(r.ssd().volume_chmod(1, filler) == 0);
      CHECK(r.ssd().commit(a, {client_id(9), 1}, &page, again) == 0);
      CHECK(r.stamp(r.mapped(b)) == 500 + b);
    }
    CHECK(gathered > 10);
  }
}

TEST_CASE("what an SSD has gathered is dropped where the volume stays as it was") {
  grown r;
  REQUIRE(r.spread(3, volume_spread::moved) == 0);
  REQUIRE(r.spread(3, volume_spread::dropping) == 0);
  r.tend();
  REQUIRE(r.spread(3, volume_spread::gathering) == 0);
  for (std::uint32_t b = 0; b < capacity; b += stripe)
    if (!r.belongs(b, 3)) REQUIRE(r.write(1, b, stripe, 7000 + b) == 0);
  REQUIRE(r.spread(3, volume_spread::moved) == 0);
  REQUIRE(r.spread(3, volume_spread::dropping) == 0);
  r.tend();
  r.check(3, false);
}
