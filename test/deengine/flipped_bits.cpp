/// One bit flips in the metadata of an SSD that was stopped or killed: no block is ever read as
/// something that it is not.
// label: thorough
// not under tsan: one lane works

#include "killed_copy.hpp"
#include "lost_ssd.hpp"
#include "metadata_in_use.hpp"
#include "power_model.hpp"
#include "qp/seeds.hpp"

using namespace gnstor;
using namespace gnstor::test;
using fw::mount_status;

namespace {

/// Killed as it works on flash itself.
struct killed {
  void begin(rig& r) { r.seals = true; }
  void lose(rig&) {}
  void rest(rig& r) { REQUIRE(fw::checkpoint(r.meta(), r.shape)); }
};
/// Without power.
struct dark {
  void begin(rig& r) { r.seals = true; }
  void lose(rig& r) { REQUIRE(flash.cut(r.meta(), r.data.data())); }
  void rest(rig& r) {
    REQUIRE(fw::checkpoint(r.meta(), r.shape));
    flash.stopped(r.meta());
  }
  power_model flash;
};

/// What flips of one kind have come to.
struct tally {
  std::uint32_t flips = 0;
  std::uint32_t refused = 0;     ///< the SSD was not mounted
  std::uint32_t touched = 0;     ///< some block was unreadable
  std::uint32_t unreadable = 0;  ///< blocks
  std::uint32_t written = 0;     ///< of these, which had been written
};

/// An SSD in an image, bits of which flip one at a time.
template <class Lost>
class flipped {
 public:
  flipped(lost_ssd<Lost>& s, std::mt19937_64& random, std::map<std::string, tally>& said)
      : s_(s), r_(s.ssd()), random_(random), said_(said), meta_(r_.meta_words), data_(r_.data) {}
  ~flipped() { restore(); }

  void flip_one(const metadata_in_use& what) {
    restore();
    const metadata_in_use::kind& kind = what.kinds[random_() % what.kinds.size()];
    const metadata_in_use::range& at = kind.ranges[random_() % kind.ranges.size()];
    const std::uint64_t byte = at.at + random_() % at.bytes;
    const auto bit = static_cast<unsigned char>(1u << random_() % 8);
    static_cast<unsigned char*>(r_.meta())[byte] ^= bit;
    CAPTURE(kind.name);
    CAPTURE(byte);
    CAPTURE(bit);
    tally& t = said_[kind.name];
    ++t.flips;
    if (random_() % 8 == 0) stop_a_mount();
    const mount_status said = mount();
    if (said != mount_status::ok) {
      ++t.refused;
      REQUIRE(std::strlen(fw::to_string(said)) > 10);
      return;
    }
    const std::uint32_t before = t.unreadable;
    look(t.unreadable, t.written);
    const bool touched = t.unreadable != before;
    t.touched += touched ? 1 : 0;
    // It is killed before anything happens, and after a block was written.
    REQUIRE(mount() == mount_status::ok);
    std::uint32_t still = 0;
    std::uint32_t of_these = 0;
    look(still, of_these);
    REQUIRE((still != 0) == touched);
    if (random_() % 4 == 0 && touched) mend();
  }

 private:
  mount_status mount() { return fw::recover(r_.meta(), r_.meta_bytes(), r_.shape, r_.who); }
  /// A mount that does not come to its end.
  void stop_a_mount() {
    simt::host::lone_lane& lane = s_.lane();
    lane.set_fuse(1 + random_() % 3000);
    try {
      (void)mount();
    } catch (const simt::host::lone_lane::fuse_blown&) {
    }
    lane.set_fuse(0);
  }
  void look(std::uint32_t& unreadable, std::uint32_t& written) {
    const std::string wrong = s_.what_is_wrong(unreadable, written);
    REQUIRE(wrong == "");
  }
  /// What is unreadable is written, and stays so.
  void mend() {
    for (std::uint16_t vid = 1; vid <= 3; ++vid) {
      const bool there = r_.ssd().check(r_.io(vid, 0, 1, false)).ok();
      for (std::uint32_t b = 0; there && b < lost_ssd<Lost>::capacity; ++b) {
        if (r_.read(vid, b) != ~std::uint64_t{0}) continue;
        REQUIRE(r_.write(vid, b, 1, 5) == 0);
        REQUIRE(r_.read(vid, b) == 5);
        REQUIRE(mount() == mount_status::ok);
        REQUIRE(r_.read(vid, b) == 5);
        return;
      }
    }
  }
  void restore() {
    r_.meta_words = meta_;
    r_.data = data_;
  }

  lost_ssd<Lost>& s_;
  rig& r_;
  std::mt19937_64& random_;
  std::map<std::string, tally>& said_;
  std::vector<std::uint64_t> meta_;
  std::vector<char> data_;
};

/// Flips `flips` bits, a few of each of many images.
template <class Lost>
void flip(std::uint32_t flips, bool stopped, std::map<std::string, tally>& said) {
  constexpr std::uint32_t of_each = 50;
  std::mt19937_64 random(9);
  for (std::uint32_t k = 0; k < flips; k += of_each) {
    CAPTURE(k);
    lost_ssd<Lost> s(1 + k);
    for (std::uint32_t lives = 0; lives < 2; ++lives) {
      if (stopped) {
        s.live_until_stopped();
      } else {
        s.live_until_lost();
      }
      if (lives == 0) s.come_to_life();
    }
    const metadata_in_use what(s.ssd().meta(), s.ssd().shape);
    flipped<Lost> bits(s, random, said);
    for (std::uint32_t n = 0; n < of_each && k + n < flips; ++n) bits.flip_one(what);
  }
}

void say(const char* what, const std::map<std::string, tally>& said) {
  std::uint32_t flips = 0;
  std::uint32_t touched = 0;
  for (const auto& [kind, t] : said) {
    MESSAGE(std::string(what) << ": " << t.flips << " flips in " << kind << ": " << t.refused
                              << " mounts refused, " << t.touched
                              << " SSDs with unreadable blocks: " << t.unreadable << ", of which "
                              << t.written << " had been written; none was another");
    flips += t.flips;
    touched += t.touched;
  }
  CHECK(touched > flips / 50);
}

const auto flips = static_cast<std::uint32_t>(number_from("GNSTOR_FLIPS", 4800));

}  // namespace

TEST_CASE("a bit that flips in an SSD that was stopped in order makes no block another") {
  std::map<std::string, tally> said;
  flip<killed>(flips, true, said);
  say("stopped", said);
  // A damaged entry costs its own block, or where that cannot be seen the older ones of its shard.
  const tally& pages = said["OOB entries"];
  CHECK(pages.refused == 0);
  CHECK(pages.written < 20 * pages.flips);  // of 100 to 200
  // What a mount makes anew is not missed.
  for (const char* kind : {"mapping", "block states", "shards", "seal", "counters"}) {
    CHECK(said[kind].flips > 0);
    CHECK(said[kind].refused == 0);
    CHECK(said[kind].unreadable == 0);
  }
}

TEST_CASE("a bit that flips in an SSD that was killed makes no block another") {
  std::map<std::string, tally> said;
  flip<killed>(flips / 3, false, said);
  flip<dark>(flips / 3, false, said);
  flip<killed_copy>(flips - 2 * (flips / 3), false, said);
  say("killed", said);
}

namespace {

/// The OOB entry of the page that holds a block.
fw::oob_entry& entry_of(rig& r, std::uint16_t vid, std::uint32_t block) {
  std::uint32_t page = 0;
  r.ssd().lookup(r.ssd().check(r.io(vid, block, 1, false)), &page);
  REQUIRE(page != engine::no_page);
  r.ssd().unpin(page);
  return r.ssd().parts().oob()[page];
}
constexpr std::uint64_t unreadable = ~std::uint64_t{0};
constexpr fw::geometry shape = lost_ssd<killed>::shape;
constexpr std::uint32_t stripe = lost_ssd<killed>::stripe;

}  // namespace

TEST_CASE("what a damaged entry may have been is unreadable, and nothing that is newer") {
  rig r(shape);
  r.seals = true;
  REQUIRE(r.ssd().volume_add(1, volume(1, 96, stripe)) == 0);
  for (std::uint32_t b = 0; b < 8; ++b) REQUIRE(r.write(1, b, 1, 100 + b) == 0);
  REQUIRE(r.write(1, 3, 1, 203) == 0);
  for (std::uint32_t b = 8; b < 96; ++b) REQUIRE(r.write(1, b, 1, 100 + b) == 0);
  REQUIRE(r.write(1, 5, 1, 205) == 0);
  const std::uint32_t shard = r.ssd().check(r.io(1, 3, 1, false)).shard;
  const auto in_shard = [&](std::uint32_t b) {
    return r.ssd().check(r.io(1, b, 1, false)).shard == shard;
  };
  const std::vector<std::uint64_t> sound = r.meta_words;
  const auto value = [](std::uint32_t b) -> std::uint64_t {
    return b == 3 ? 203 : b == 5 ? 205 : 100 + b;
  };
  // Its check, or its sequence: the block is known.
  entry_of(r, 1, 3).check ^= 0x40;
  r.mount();
  for (std::uint32_t b = 0; b < 96; ++b) CHECK(r.read(1, b) == (b == 3 ? unreadable : value(b)));
  r.meta_words = sound;
  entry_of(r, 1, 3).sequence ^= 0x400;
  r.mount();
  for (std::uint32_t b = 0; b < 96; ++b) CHECK(r.read(1, b) == (b == 3 ? unreadable : value(b)));
  // Its block: it may have been a newer version of any that is older.
  r.meta_words = sound;
  entry_of(r, 1, 3).block = vba(2);
  r.mount();
  for (std::uint32_t b = 0; b < 96; ++b) {
    CAPTURE(b);
    CHECK(r.read(1, b) == (b <= 4 || (b > 5 && b < 8) ? unreadable : value(b)));
  }
  // Both: of any in its shard.
  r.meta_words = sound;
  entry_of(r, 1, 3).sequence ^= 0x400;
  entry_of(r, 1, 3).block = vba(2);
  r.mount();
  for (std::uint32_t b = 0; b < 96; ++b)
    CHECK(r.read(1, b) == (in_shard(b) ? unreadable : value(b)));
  // A later volume has lost nothing.
  REQUIRE(r.ssd().volume_add(1, volume(2, 96, stripe)) == 0);
  for (std::uint32_t b = 0; b < 96; ++b) CHECK(r.read(2, b) == 0);
}

TEST_CASE("a mount that is killed at any store forgets no damage that it has found") {
  rig r(shape);
  r.seals = true;
  REQUIRE(r.ssd().volume_add(1, volume(1, 96, stripe)) == 0);
  for (std::uint32_t b = 0; b < 96; ++b) REQUIRE(r.write(1, b, 1, 100 + b) == 0);
  for (std::uint32_t b = 0; b < 96; b += 3) REQUIRE(r.write(1, b, 1, 200 + b) == 0);
  entry_of(r, 1, 3).check ^= 0x40;  // its former page is there, and sound
  const std::vector<std::uint64_t> damaged = r.meta_words;
  simt::host::lone_lane lane;
  std::uint32_t kills = 0;
  for (bool done = false; !done;) {
    r.meta_words = damaged;
    CAPTURE(kills);
    lane.set_fuse(++kills);
    try {
      done = fw::recover(r.meta(), r.meta_bytes(), shape, r.who) == mount_status::ok;
    } catch (const simt::host::lone_lane::fuse_blown&) {
    }
    lane.set_fuse(0);
    if (!done) r.mount();
    REQUIRE(r.read(1, 3) == unreadable);
    std::uint32_t others = 0;
    for (std::uint32_t b = 0; b < 96; ++b) {
      const std::uint64_t found = r.read(1, b);
      if (found == unreadable) continue;
      REQUIRE(found == (b % 3 == 0 ? 200 : 100) + b);
      ++others;
    }
    REQUIRE(others >= 32);  // the other shard's
  }
  CHECK(kills > 500);
}

TEST_CASE("a part of a sealed file that is of an earlier time brings no older block back") {
  rig r(shape);
  r.seals = true;
  REQUIRE(r.ssd().volume_add(1, volume(1, 96, stripe)) == 0);
  for (std::uint32_t b = 0; b < 96; ++b) REQUIRE(r.write(1, b, 1, 100 + b) == 0);
  const fw::layout at = fw::layout::of(shape);
  auto* oob = static_cast<char*>(r.meta()) + at.oob;
  const std::vector<char> former(oob, oob + shape.pages * sizeof(fw::oob_entry));
  for (std::uint32_t b = 0; b < 96; b += 2) REQUIRE(r.write(1, b, 1, 200 + b) == 0);
  REQUIRE(fw::checkpoint(r.meta(), shape));
  const std::vector<std::uint64_t> sealed = r.meta_words;
  std::uint32_t useless = 0;
  for (std::size_t part = 0; part < former.size(); part += 1024) {  // as the disk has its blocks
    r.meta_words = sealed;
    std::memcpy(oob + part, former.data() + part, 1024);
    r.mount();
    const bool all = r.read(1, 0) == unreadable;  // else no more than marks of a mount differ
    useless += all ? 1 : 0;
    for (int mounts = 0; mounts < 2; ++mounts) {
      for (std::uint32_t b = 0; b < 96; ++b)
        REQUIRE(r.read(1, b) == (all ? unreadable : (b % 2 == 0 ? 200 : 100) + b));
      r.mount();
    }
    REQUIRE(r.write(1, 7, 1, 7) == 0);
    CHECK(r.read(1, 7) == 7);
  }
  CHECK(useless > 1);
}

TEST_CASE("blocks that an SSD cannot tell are filled, also where it is in sync") {
  rig r(shape);
  r.seals = true;
  record v = volume(1, 96, stripe);
  v.clients[1] = {2, wire::afa::right_read | wire::afa::right_fill};
  REQUIRE(r.ssd().volume_add(1, v) == 0);
  for (std::uint32_t b = 0; b < 8; ++b) REQUIRE(r.write(1, b, 1, 100 + b) == 0);
  entry_of(r, 1, 3).check ^= 0x40;
  r.mount();
  REQUIRE(r.read(1, 3) == unreadable);
  fw::request q = r.io(1, 0, 8, true, 2);
  q.fill = true;
  const fw::admission a = r.ssd().check(q);
  REQUIRE(a.ok());
  std::uint32_t pages[8];
  REQUIRE(r.take(a, pages) == 0);
  for (std::uint32_t k = 0; k < 8; ++k) {
    r.fill(pages[k], 500 + k);
    r.ssd().seal(pages[k], gnstor::detail::page_crc_here(r.ssd().page(pages[k])));
  }
  REQUIRE(r.ssd().commit_fill(a, {client_id(2), 1}, pages, false) == 0);
  std::uint32_t page = 0;
  r.ssd().lookup(r.ssd().check(r.io(1, 3, 1, false)), &page);
  REQUIRE(page != engine::no_page);
  CHECK(r.stamp(page) == 503);
  r.ssd().unpin(page);
}
