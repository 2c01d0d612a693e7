#pragma once
/// An SSD that is lost at any store, and what it must hold then.

#include "rig.hpp"
#include <deengine/checkpoint.hpp>
#include <gnstor/simt_host/lone_lane.hpp>

#include <map>
#include <random>
#include <set>
#include <string>

namespace gnstor::test {

/// An SSD that is lost at any store, and what it must hold: a block under change then may be as it
/// was or as it was to be.
/// @tparam Lost `lose(rig&)` makes of it what a mount finds, at any time; `begin(rig&)` goes on
/// with what was mounted; `rest(rig&)` stops it in order
template <class Lost>
class lost_ssd {
 public:
  /// Two shards whose blocks come back often, and journals that wrap.
  static constexpr fw::geometry shape{
      .pages = 512, .shards = 2, .pages_per_block = 8, .max_volumes = 4};
  static constexpr std::uint32_t capacity = 96;
  static constexpr std::uint32_t stripe = 8;

  explicit lost_ssd(std::uint64_t seed) : random_(seed), ssd_(shape) { lost_.begin(ssd_); }

  void life(std::uint32_t steps) {
    for (std::uint32_t k = 0; k < steps; ++k) {
      pending_.clear();
      pending_add_ = pending_remove_ = 0;
      pending_epoch_ = 0;
      lane_.set_fuse(pick(12) == 0 ? 1 + pick(400) : 0);
      try {
        step();
      } catch (const lone_lane::fuse_blown&) {
        ++times_;
        go_on();
      }
      lane_.set_fuse(0);
      if (pick(50) == 0) stop();
    }
  }
  void verify() {
    for (std::uint16_t vid = 1; vid <= 3; ++vid) {
      REQUIRE(ssd_.ssd().check(ssd_.io(vid, 0, 1, false)).ok() == volumes_.contains(vid));
      for (std::uint32_t b = 0; volumes_.contains(vid) && b < capacity; ++b) {
        CAPTURE(vid);
        CAPTURE(b);
        REQUIRE(ssd_.read(vid, b) == expected(vid, b));
      }
    }
    verify_marks();
  }
  /// What has changed since a volume was clean is marked as dirty, whatever was lost meanwhile.
  void verify_marks() {
    for (std::uint16_t vid = 1; vid <= 3; ++vid) {
      if (!volumes_.contains(vid)) continue;
      const wire::afa::dirty_regions marked = ssd_.dirty(vid);
      CAPTURE(vid);
      for (std::uint32_t s = 0; s < capacity / stripe; ++s) {
        CAPTURE(s);
        if (changed_.contains({vid, s})) REQUIRE(marked.holds(s));
        spared_ += marked.holds(s) ? 0 : 1;
      }
    }
  }
  /// Lives until it is lost at some store, or, now and then, between two commands; it is not
  /// mounted.
  void live_until_lost() {
    for (std::uint32_t steps = 1 + pick(600);; --steps) {
      pending_.clear();
      pending_add_ = pending_remove_ = 0;
      pending_epoch_ = 0;
      if (steps == 0 && pick(4) == 0) break;
      lane_.set_fuse(steps == 0 ? 1 + pick(400) : 0);
      try {
        step();
      } catch (const lone_lane::fuse_blown&) {
        break;
      }
      steps = std::max(steps, 1u);
    }
    lane_.set_fuse(0);
    lost_.lose(ssd_);
  }
  /// Lives for a while, and is stopped in order; it is not mounted.
  void live_until_stopped() {
    const std::uint32_t steps = 1 + pick(600);
    for (std::uint32_t k = 0; k < steps; ++k) {
      pending_.clear();
      pending_add_ = pending_remove_ = 0;
      pending_epoch_ = 0;
      step();
    }
    pending_.clear();
    pending_add_ = pending_remove_ = 0;
    pending_epoch_ = 0;
    lost_.rest(ssd_);
    lost_.lose(ssd_);
  }
  /// Goes on after either.
  void come_to_life() { go_on(); }
  /// What is wrong with it as it is mounted, in words; nothing if each block is what it was or was
  /// to be, or is said to be unreadable.
  /// @param unreadable counts the latter
  /// @param written counts those of them that had been written
  std::string what_is_wrong(std::uint32_t& unreadable, std::uint32_t& written) {
    if (!is_epoch(ssd_.ssd().epoch())) return "the epoch is another";
    for (std::uint16_t vid = 1; vid <= 3; ++vid) {
      const bool there = ssd_.ssd().check(ssd_.io(vid, 0, 1, false)).ok();
      if (there != volumes_.contains(vid) && vid != pending_add_ && vid != pending_remove_)
        return "volume " + std::to_string(vid) + (there ? " is back" : " is gone");
      for (std::uint32_t b = 0; there && b < capacity; ++b) {
        const std::uint64_t found = ssd_.read(vid, b);
        const auto change = pending_.find({vid, b});
        if (found == expected(vid, b) || (change != pending_.end() && found == change->second))
          continue;
        if (found != ~std::uint64_t{0})
          return "block " + std::to_string(b) + " of volume " + std::to_string(vid) + " is " +
                 std::to_string(found) + " and not " + std::to_string(expected(vid, b));
        ++unreadable;
        written += expected(vid, b) != 0 ? 1 : 0;
      }
    }
    return {};
  }
  rig& ssd() { return ssd_; }
  simt::host::lone_lane& lane() { return lane_; }
  std::uint32_t times() const { return times_; }
  std::uint32_t undone() const { return undone_; }
  std::uint32_t done() const { return done_; }
  std::uint32_t spared() const { return spared_; }

 private:
  using lone_lane = simt::host::lone_lane;
  using location = std::pair<std::uint16_t, std::uint32_t>;

  std::uint32_t pick(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  std::uint64_t expected(std::uint16_t vid, std::uint32_t b) {
    const auto at = contents_.find({vid, b});
    return at == contents_.end() ? 0 : at->second;
  }
  bool is_epoch(std::uint32_t now) const {
    return now == epoch_ || (pending_epoch_ != 0 && now == pending_epoch_);
  }
  void come_back() {
    lost_.lose(ssd_);
    ssd_.mount();
  }
  /// Stopped in order, after changes, and lost then.
  void stop() {
    lost_.rest(ssd_);
    come_back();
    lost_.begin(ssd_);
    verify();
  }
  /// It is mounted: what was under way is decided by what is there.
  void go_on() {
    lane_.set_fuse(0);
    come_back();
    if (pick(4) == 0) {  // stopped before anything has changed
      lost_.begin(ssd_);
      lost_.rest(ssd_);
      come_back();
    }
    if (pick(3) == 0) {  // lost while it is mounted
      lane_.set_fuse(1 + pick(2000));
      try {
        (void)fw::recover(ssd_.meta(), ssd_.meta_bytes(), shape, ssd_.who);
      } catch (const lone_lane::fuse_blown&) {
      }
      lane_.set_fuse(0);
      come_back();
    }
    lost_.begin(ssd_);
    REQUIRE(is_epoch(ssd_.ssd().epoch()));
    epoch_ = ssd_.ssd().epoch();
    if (pending_add_ != 0 && ssd_.ssd().check(ssd_.io(pending_add_, 0, 1, false)).ok())
      volumes_.insert({pending_add_, true});
    if (pending_remove_ != 0 && !ssd_.ssd().check(ssd_.io(pending_remove_, 0, 1, false)).ok())
      forget(pending_remove_);
    for (const auto& [where, stamp] : pending_) {
      if (!volumes_.contains(where.first)) continue;
      const std::uint64_t found = ssd_.read(where.first, where.second);
      const std::uint64_t before = expected(where.first, where.second);
      CAPTURE(where.second);
      REQUIRE((found == stamp || found == before));
      (found == stamp ? done_ : undone_) += 1;
      note(where, found);
    }
    verify();
  }
  void forget(std::uint16_t vid) {
    volumes_.erase(vid);
    contents_.erase(contents_.lower_bound({vid, 0}), contents_.upper_bound({vid, ~0u}));
    changed_.erase(changed_.lower_bound({vid, 0}), changed_.upper_bound({vid, ~0u}));
  }
  void note(const location& where, std::uint64_t stamp) {
    if (expected(where.first, where.second) != stamp)
      changed_.insert({where.first, where.second / stripe});
    contents_[where] = stamp;
  }

  /// Not called within doctest's macros, which would catch the fuse.
  static void must_be_done(std::uint16_t status) { REQUIRE(status == 0); }

  void step() {
    const auto vid = static_cast<std::uint16_t>(1 + pick(3));
    if (!volumes_.contains(vid)) {
      pending_add_ = vid;
      must_be_done(ssd_.ssd().volume_add(epoch_, volume(vid, capacity, stripe)));
      volumes_.insert({vid, true});
      return;
    }
    if (pick(100) == 0) {
      pending_remove_ = vid;
      must_be_done(ssd_.ssd().volume_delete(epoch_, volume_id(vid)));
      forget(vid);
      return;
    }
    if (pick(100) == 0) {
      pending_epoch_ = epoch_ + 1 + pick(3);
      const std::uint64_t absent = pick(2) == 0 ? 2 : 0;
      must_be_done(
          ssd_.ssd().array_update({wire::afa::payload_version, pending_epoch_, absent, 0}));
      epoch_ = pending_epoch_;
      return;
    }
    if (pick(20) == 0) {  // half of it done is as good as none: both are equal
      changed_.erase(changed_.lower_bound({vid, 0}), changed_.upper_bound({vid, ~0u}));
      wire::afa::volume_chmod equal{};
      equal.version = wire::afa::payload_version;
      equal.vid = vid;
      equal.sets = wire::afa::volume_chmod::sets_clean;
      return must_be_done(ssd_.ssd().volume_chmod(epoch_, equal));
    }
    if (pick(10) == 0) return void(ssd_.ssd().tend(pick(shape.shards), pick(40)));
    const std::uint32_t first = pick(capacity);
    const std::uint32_t blocks = 1 + pick(stripe - first % stripe);
    if (pick(4) == 0) {
      for (std::uint32_t k = 0; k < blocks; ++k) pending_[{vid, first + k}] = 0;
      const fw::admission a = ssd_.ssd().check(ssd_.io(vid, first, blocks, true));
      must_be_done(a.status);
      must_be_done(ssd_.deallocate(a));
    } else {
      for (std::uint32_t k = 0; k < blocks; ++k) pending_[{vid, first + k}] = stamp_ + 1 + k;
      const std::uint64_t from = stamp_ + 1;
      stamp_ += blocks;
      must_be_done(ssd_.write(vid, first, blocks, from));
    }
    for (const auto& [where, stamp] : pending_) note(where, stamp);
  }

  std::mt19937_64 random_;
  lone_lane lane_;
  Lost lost_;
  rig ssd_;
  std::map<std::uint16_t, bool> volumes_;
  std::map<location, std::uint64_t> contents_;
  std::set<location> changed_;                 ///< stripes, since their volume was clean
  std::map<location, std::uint64_t> pending_;  ///< what the command under way makes of blocks
  std::uint16_t pending_add_ = 0;
  std::uint16_t pending_remove_ = 0;
  std::uint32_t epoch_ = 1;
  std::uint32_t pending_epoch_ = 0;
  std::uint64_t stamp_ = 0;
  std::uint32_t times_ = 0;
  std::uint32_t undone_ = 0;
  std::uint32_t done_ = 0;
  std::uint32_t spared_ = 0;  ///< looks at stripes that were not marked
};

/// Many lives of such SSDs, and that they meant something.
/// @param what the losses are, for the message
template <class Lost>
void lives_lose_nothing(const std::string& what) {
  std::uint32_t times = 0;
  std::uint32_t undone = 0;
  std::uint32_t done = 0;
  std::uint64_t spared = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    lost_ssd<Lost> s(seed);
    s.life(2000);
    s.verify();
    times += s.times();
    undone += s.undone();
    done += s.done();
    spared += s.spared();
  }
  CHECK(times > 1000);
  CHECK(undone > 500);
  CHECK(spared > 100);
  CHECK(done > 100);  // between the stores of several blocks, or behind the last
  MESSAGE(times << " " << what << ", blocks under way as before " << undone << ", as after "
                << done);
}

}  // namespace gnstor::test
