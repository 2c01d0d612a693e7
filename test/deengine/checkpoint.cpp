/// SSDs that were stopped in order: mounted as they were left, unless something has changed since.
// not under tsan: one lane works

#include "power_model.hpp"
#include "rig.hpp"
#include <deengine/checkpoint.hpp>
#include <gnstor/simt_host/lone_lane.hpp>

#include <map>
#include <random>

using namespace gnstor;
using namespace gnstor::test;
using simt::host::lone_lane;

namespace {

const fw::geometry shape{.pages = 512, .shards = 2, .pages_per_block = 8, .max_volumes = 4};
constexpr std::uint32_t capacity = 192;
constexpr std::uint32_t stripe = 8;

/// Writes and deallocates at random, so that blocks come back; what it must hold is remembered.
struct used_ssd {
  explicit used_ssd(std::uint32_t seed) : random(seed), ssd(shape) {
    REQUIRE(ssd.ssd().volume_add(1, volume(1, capacity, stripe)) == 0);
  }
  void use(std::uint32_t commands) {
    for (std::uint32_t k = 0; k < commands; ++k) {
      const auto first = static_cast<std::uint32_t>(random() % capacity);
      const auto blocks = 1 + static_cast<std::uint32_t>(random() % (stripe - first % stripe));
      if (random() % 5 == 0) {
        const fw::admission a = ssd.ssd().check(ssd.io(1, first, blocks, true));
        REQUIRE(a.ok());
        REQUIRE(ssd.deallocate(a) == 0);
        for (std::uint32_t b = 0; b < blocks; ++b) contents[first + b] = 0;
      } else {
        REQUIRE(ssd.write(1, first, blocks, stamp + 1) == 0);
        for (std::uint32_t b = 0; b < blocks; ++b) contents[first + b] = ++stamp;
      }
    }
  }
  void verify() {
    for (std::uint32_t b = 0; b < capacity; ++b) {
      CAPTURE(b);
      REQUIRE(ssd.read(1, b) == contents[b]);
    }
  }
  bool stop() {
    const bool done = fw::checkpoint(ssd.meta(), shape);
    if (done) flash.stopped(ssd.meta());
    return done;
  }
  void mount() {
    REQUIRE(fw::recover(ssd.meta(), ssd.meta_bytes(), shape, ssd.who) == fw::mount_status::ok);
  }
  bool sealed() { return static_cast<const fw::metadata_header*>(ssd.meta())->checkpoint != 0; }
  void cut() { REQUIRE(flash.cut(ssd.meta(), ssd.data.data())); }

  std::mt19937 random;
  rig ssd;
  power_model flash;
  std::map<std::uint32_t, std::uint64_t> contents;
  std::uint64_t stamp = 0;
};

}  // namespace

TEST_CASE("an SSD that was stopped in order is mounted as it was left, power or not") {
  used_ssd s(1);
  for (int lives = 0; lives < 20; ++lives) {
    s.use(150);
    REQUIRE(s.stop());
    CHECK(s.sealed());
    s.cut();  // after the stop: nothing is lost
    const std::vector<std::uint64_t> before = s.ssd.meta_words;
    s.mount();
    CHECK_FALSE(s.sealed());
    // Word by word what it was, but for the seal.
    std::uint32_t differ = 0;
    for (std::size_t k = 0; k < before.size(); ++k) differ += before[k] != s.ssd.meta_words[k];
    CHECK(differ == 1);
    s.verify();
  }
}

TEST_CASE("any byte that is not what was sealed sends the mount to look at all pages") {
  used_ssd s(2);
  s.use(400);
  REQUIRE(s.stop());
  const std::vector<std::uint64_t> sealed = s.ssd.meta_words;
  const fw::layout at = fw::layout::of(shape);
  // What was in DRAM: flash does not have it, and its loss costs nothing.
  for (int tries = 0; tries < 300; ++tries) {
    s.ssd.meta_words = sealed;
    const bool mapping = tries % 2 == 0;
    const std::uint64_t from = mapping ? at.mapping : at.shards;
    const std::uint64_t to = mapping ? at.oob : at.volume_index;
    auto* bytes = static_cast<unsigned char*>(s.ssd.meta());
    bytes[from + s.random() % (to - from)] ^= static_cast<unsigned char>(1 + s.random() % 255);
    s.mount();
    s.verify();
  }
  // Wherever it is.
  for (int tries = 0; tries < 1000; ++tries) {
    s.ssd.meta_words = sealed;
    const std::uint64_t where = s.random() % at.bytes;
    auto* bytes = static_cast<unsigned char*>(s.ssd.meta());
    bytes[where] ^= static_cast<unsigned char>(1 + s.random() % 255);
    CAPTURE(where);
    REQUIRE(fw::look_at_checkpoint(s.ssd.meta(), shape) != fw::checkpoint_state::whole);
  }
  // A seal of nothing at all.
  s.ssd.meta_words = sealed;
  static_cast<fw::metadata_header*>(s.ssd.meta())->checkpoint ^= 0x100;
  s.mount();
  s.verify();
  s.use(100);
  s.verify();
}

TEST_CASE("what is under way keeps an SSD from being sealed, and no more") {
  used_ssd s(3);
  s.use(100);
  const fw::admission a = s.ssd.ssd().check(s.ssd.io(1, 0, 2, true));
  std::uint32_t pages[2];
  REQUIRE(s.ssd.take(a, pages) == 0);
  CHECK_FALSE(s.stop());  // allocated, not committed
  CHECK_FALSE(s.sealed());
  s.ssd.ssd().abandon(a, pages);
  REQUIRE(s.stop());
  s.mount();
  REQUIRE(s.ssd.write(1, 5, 1, 77) == 0);
  s.contents[5] = 77;
  const fw::admission look = s.ssd.ssd().check(s.ssd.io(1, 5, 1, false));
  std::uint32_t page = 0;
  s.ssd.ssd().lookup(look, &page);
  CHECK_FALSE(s.stop());  // a reader has it pinned
  s.ssd.ssd().unpin(page);
  REQUIRE(s.stop());
  s.mount();
  s.verify();
}

TEST_CASE("power may go at any store of a stop or of the mount that follows") {
  used_ssd s(4);
  lone_lane lane;
  std::uint32_t blown = 0;
  for (std::uint32_t points = 1; points < 200; ++points) {
    s.use(20);
    for (const bool stopping : {true, false}) {
      lane.set_fuse(points);
      try {
        if (stopping) {
          (void)s.stop();
        } else {
          (void)fw::recover(s.ssd.meta(), s.ssd.meta_bytes(), shape, s.ssd.who);
        }
      } catch (const lone_lane::fuse_blown&) {
        ++blown;
      }
      lane.set_fuse(0);
      s.cut();
    }
    s.mount();
    s.verify();
  }
  CHECK(blown > 100);
}

TEST_CASE("a stopped SSD that runs again is not the one that was sealed") {
  used_ssd s(5);
  s.use(200);
  REQUIRE(s.stop());
  fw::end_checkpoint(s.ssd.meta(), shape);
  s.use(50);
  s.cut();
  s.mount();
  s.verify();
  REQUIRE(s.stop());
  s.mount();
  s.use(50);  // and it is killed, whose memory is all there
  s.mount();
  s.verify();
}
