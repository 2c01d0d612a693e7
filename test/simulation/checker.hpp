#pragma once
/// What an array may hold, from what its clients were answered.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gnstor::test {

/// Knows of each block every value that it may hold, and says when an answer fits none.
///
/// A value is possible from the beginning of its write until another write of the block is
/// acknowledged, or, once all replicas are equal, until a read has shown which one it is.
class history_checker {
 public:
  struct extent {
    std::uint16_t vid = 0;
    std::uint32_t first = 0;
    std::uint32_t blocks = 0;
  };

  void created(std::uint16_t vid, std::uint32_t capacity) {
    cells_[vid].assign(capacity, cell{});
    ++incarnations_[vid];
  }
  void removed(std::uint16_t vid) { cells_.erase(vid); }
  bool knows(std::uint16_t vid) const { return cells_.contains(vid); }
  /// Which volume of that VID it is by now.
  std::uint32_t incarnation(std::uint16_t vid) { return incarnations_[vid]; }
  std::uint64_t now() const { return now_; }
  void step() { ++now_; }
  /// Prints what happens to one block.
  void watch(std::uint16_t vid, std::uint32_t block) { watched_ = {vid, block, 1}; }

  /// A write of `value` + k begins, or of zeroes.
  void write_begins(const extent& e, std::uint64_t value) {
    if (!knows(e.vid)) return;
    for (std::uint32_t k = 0; k < e.blocks; ++k) {
      cell& c = at(e, k);
      c.may.push_back({value == 0 ? 0 : value + k, forever});
      tell(e.vid, e.first + k, "write begins", value == 0 ? 0 : value + k);
      c.changed = now_;
      c.exposed = is_exposed(e, k);
      ++c.writing;
    }
  }
  /// It was acknowledged: nothing else is left of the block.
  void write_done(const extent& e, std::uint64_t value) {
    if (!knows(e.vid)) return;
    ++acknowledged_;
    for (std::uint32_t k = 0; k < e.blocks; ++k) {
      cell& c = at(e, k);
      settle(c, value == 0 ? 0 : value + k);
      tell(e.vid, e.first + k, "write done", value == 0 ? 0 : value + k);
      --c.writing;
      c.unequal = false;
      const bool lost = c.exposed || is_exposed(e, k);
      if (std::exchange(c.lost, lost) && !lost) c.regained = now_;
    }
  }
  /// Nobody knows what became of it.
  void write_unknown(const extent& e) {
    if (!knows(e.vid)) return;
    for (std::uint32_t k = 0; k < e.blocks; ++k) {
      cell& c = at(e, k);
      c.unequal = true;
      tell(e.vid, e.first + k, "write unknown", 0);
      c.changed = now_;
      --c.writing;
    }
  }
  /// Every replica of a block has failed: until it is written again it may be unreadable. False if
  /// that was known.
  bool lost(std::uint16_t vid, std::uint32_t block) {
    if (!knows(vid)) return false;
    tell(vid, block, "lost", 0);
    return !std::exchange(cells_[vid][block].lost, true);
  }
  bool is_lost(std::uint16_t vid, std::uint32_t block) const {
    const auto at = cells_.find(vid);
    return at != cells_.end() && at->second[block].lost;
  }
  /// True if it was lost at some moment from step `since` until now.
  bool was_lost(std::uint16_t vid, std::uint32_t block, std::uint64_t since) const {
    const auto at = cells_.find(vid);
    if (at == cells_.end()) return false;
    const cell& c = at->second[block];
    return c.lost || (c.regained != 0 && c.regained >= since);
  }
  /// All replicas of the volume are equal, and nobody writes it.
  void converged(std::uint16_t vid) {
    tell(vid, watched_.first, "converged", 0);
    if (!knows(vid)) return;
    for (cell& c : cells_[vid]) {
      c.unequal = false;
      c.changed = now_;
    }
  }
  /// A read that began at step `since` gave `value` for a block. False: nobody can have read that.
  bool read_shows(std::uint16_t vid, std::uint32_t block, std::uint64_t value,
                  std::uint64_t since) {
    if (!knows(vid)) return true;  // deleted meanwhile
    cell& c = cells_[vid][block];
    bool fits = false;
    tell(vid, block, "read", value);
    for (const possible& p : c.may) fits = fits || (p.value == value && p.until >= since);
    if (fits && !c.unequal && c.writing == 0 && c.changed < since) settle(c, value);
    return fits;
  }
  /// True if a block may hold `value` now.
  bool may_hold(std::uint16_t vid, std::uint32_t block, std::uint64_t value) {
    const auto& may = cells_[vid][block].may;
    return std::any_of(may.begin(), may.end(), [value](const possible& p) {
      return p.value == value && p.until == forever;
    });
  }
  /// True if every replica in sync must hold the same.
  bool is_settled(std::uint16_t vid, std::uint32_t block) {
    const cell& c = cells_[vid][block];
    return !c.unequal && c.writing == 0;
  }
  std::string describe(std::uint16_t vid, std::uint32_t block) {
    std::string all;
    for (const possible& p : cells_[vid][block].may) {
      all += " " + std::to_string(p.value);
      if (p.until != forever) all += " (until step " + std::to_string(p.until) + ")";
    }
    return all;
  }
  /// Whether what is written to a block now is on no SSD that others are filled from. None: never.
  std::function<bool(std::uint16_t, std::uint32_t)> no_replica_in_sync;
  std::uint64_t acknowledged() const { return acknowledged_; }
  std::map<std::uint16_t, std::uint32_t> volumes() const {
    std::map<std::uint16_t, std::uint32_t> all;
    for (const auto& [vid, cells] : cells_) all[vid] = static_cast<std::uint32_t>(cells.size());
    return all;
  }

 private:
  static constexpr std::uint64_t forever = ~std::uint64_t{0};
  struct possible {
    std::uint64_t value;
    std::uint64_t until;  ///< the last step at which it was
  };
  struct cell {
    std::vector<possible> may{{0, forever}};
    std::uint64_t changed = 0;
    std::uint32_t writing = 0;
    bool unequal = false;        ///< replicas may differ
    bool lost = false;           ///< no replica may be left of what was acknowledged
    bool exposed = false;        ///< its last write began when no SSD in sync could take it
    std::uint64_t regained = 0;  ///< step at which it was lost no longer; 0: never
  };

  void tell(std::uint16_t vid, std::uint32_t block, const char* what, std::uint64_t value) const {
    if (watched_.blocks == 0 || vid != watched_.vid || block != watched_.first) return;
    std::printf("step %llu: %s %llu\n", static_cast<unsigned long long>(now_), what,
                static_cast<unsigned long long>(value));
  }
  bool is_exposed(const extent& e, std::uint32_t k) const {
    return no_replica_in_sync && no_replica_in_sync(e.vid, e.first + k);
  }
  cell& at(const extent& e, std::uint32_t k) { return cells_[e.vid][e.first + k]; }
  /// From now on it is `value`; reads that have begun may show what else it was.
  void settle(cell& c, std::uint64_t value) {
    constexpr std::size_t kept = 64;
    bool there = false;
    std::erase_if(c.may, [&](const possible& p) {
      const bool again = p.value == value && p.until == forever && there;
      there = there || (p.value == value && p.until == forever);
      return again;
    });
    for (possible& p : c.may) {
      if (p.until == forever && p.value != value) p.until = now_;
    }
    if (!there) c.may.push_back({value, forever});
    while (c.may.size() > kept) {  // what has been over for longest
      const auto first =
          std::min_element(c.may.begin(), c.may.end(),
                           [](const possible& a, const possible& b) { return a.until < b.until; });
      if (first->until == forever) break;
      c.may.erase(first);
    }
    c.changed = now_;
  }

  std::map<std::uint16_t, std::vector<cell>> cells_;
  std::map<std::uint16_t, std::uint32_t> incarnations_;
  std::uint64_t now_ = 0;
  std::uint64_t acknowledged_ = 0;
  extent watched_{};
};

}  // namespace gnstor::test
