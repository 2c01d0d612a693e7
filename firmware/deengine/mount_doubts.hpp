#pragma once

#include <deengine/page_owners.hpp>

#include <algorithm>
#include <limits>
#include <vector>

namespace gnstor::detail {

/// What a mount has found damaged, and what follows from it. Host only.
///
/// A damaged thing may have said anything that the checks of its parts do not exclude. The mount
/// takes out of the mappings what that might contradict, and the shard says from then on that it
/// cannot tell what it does not find (`fw::doubt_record`). What is vouched for:
///
/// - A page whose entry was damaged is a newer version of the block that the entry names, or, if
///   that is what was damaged, of any block of its erase block's shard; newer than pages of lower
///   sequences than it says, or, if that was damaged, than any.
/// - Of an erase block whose live record was damaged no page vouches for anything, as it may have
///   ended.
/// - A damaged deallocation may have ended any older page of its shard.
/// - Where a sealed flash is not what was sealed, and nothing of this explains it, nothing is.
class mount_doubts {
 public:
  explicit mount_doubts(const fw::metadata& meta)
      : meta_(meta), horizons_(meta.shape().shards), records_(meta.shape().blocks()) {
    known_ = meta.header().doubts;
    if (!known_.is_sealed()) {
      known_ = fw::doubt_record::of(all_shards(), 0, ~0u);
      any_ = true;
    }
    // A mount that was killed had begun to drop what these hold.
    for (std::uint32_t s = 0; s < meta.shape().shards; ++s) {
      if ((known_.dropping >> s & 1) != 0) distrust(s, everything);
    }
  }

  /// True if something was found that is not what was stored in flash.
  bool found() const { return found_; }

  void add_page(std::uint32_t page) {
    any_ = found_ = true;
    pages_.push_back(page);
  }
  void add_record(std::uint32_t block) {
    any_ = found_ = true;
    records_[block] = true;
  }
  void add_trim(std::uint32_t shard, const fw::trim_entry& e) {
    found_ = true;
    distrust(shard, e.says_its_sequence() ? e.sequence : everything);
  }
  /// Nothing in any shard is vouched for.
  void distrust_all() {
    for (std::uint32_t s = 0; s < meta_.shape().shards; ++s) distrust(s, everything);
  }

  /// Takes what is not vouched for out of the mappings, and writes down which shards cannot tell
  /// what they do not find. @par Callers recovery, before it changes anything in flash
  void settle(page_owners& shard_of_page) {
    if (!any_) return;
    for (const std::uint32_t page : pages_) judge(page, shard_of_page);
    const std::uint32_t size = meta_.shape().pages_per_block;
    for (std::uint32_t page = 0; page < meta_.shape().pages; ++page) {
      const fw::oob_entry& e = meta_.oob()[page];
      if (e.state != fw::page_state::valid) continue;
      const auto shard = static_cast<std::uint32_t>(shard_of_page(e));
      if (records_[page / size] || e.sequence <= horizons_[shard]) drop(shard, e.key());
    }
    const std::uint64_t shards = known_.shards | doubtful_;
    // Volumes that come later have lost nothing.
    meta_.header().doubts = fw::doubt_record::of(shards, doubtful_, meta_.header().next_generation);
    cuda::std::atomic_signal_fence(release);
    for (const std::uint32_t page : pages_) meta_.oob()[page].strike_out();
  }
  /// Flash knows by itself what was taken out. @par Callers recovery, at its end
  void end() const {
    if (!any_) return;
    cuda::std::atomic_signal_fence(release);
    const fw::doubt_record& now = meta_.header().doubts;
    meta_.header().doubts = fw::doubt_record::of(now.shards, 0, now.generation);
  }

 private:
  static constexpr std::uint64_t everything = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t all_shards() const {
    const std::uint32_t shards = meta_.shape().shards;
    return shards == 64 ? everything : (std::uint64_t{1} << shards) - 1;
  }
  /// No page of that sequence or an older one counts in a shard.
  void distrust(std::uint32_t shard, std::uint64_t sequence) {
    any_ = true;
    doubtful_ |= std::uint64_t{1} << shard;
    horizons_[shard] = std::max(horizons_[shard], sequence);
  }
  /// Makes a shard one that does not find a key, and cannot tell.
  void drop(std::uint32_t shard, std::uint64_t key) {
    doubtful_ |= std::uint64_t{1} << shard;
    const std::uint32_t slot = meta_.find(shard, key);
    if (slot == fw::cuckoo_map::none) return;
    fw::cuckoo_map map = meta_.mapping(shard);
    meta_.oob()[map.page(slot)].state = fw::page_state::stale;
    map.erase(slot);
    --meta_.shard(shard).mapped;
  }

  /// What follows from a damaged entry.
  void judge(std::uint32_t page, page_owners& shard_of_page) {
    const fw::oob_entry& e = meta_.oob()[page];
    const std::uint32_t size = meta_.shape().pages_per_block;
    const std::uint64_t sequence = e.says_its_sequence() ? e.sequence : everything;
    const auto record = meta_.flash<thread_scope_system>().record(page / size).read();
    if (sequence != everything && !record.damaged && !record.counts(page % size, sequence)) return;
    const std::int64_t block_shard = shard_of_block(page / size, shard_of_page);
    if (e.names_its_key()) {
      const std::int64_t shard = shard_of_page(e);
      if (shard < 0) return;  // its volume is gone, or it has moved away
      if (block_shard < 0 || shard == block_shard)
        return judge_key(static_cast<std::uint32_t>(shard), e.key(), sequence);
    }
    for (std::uint32_t s = 0; s < meta_.shape().shards; ++s) {
      if (block_shard < 0 || s == block_shard) distrust(s, sequence);
    }
  }
  void judge_key(std::uint32_t shard, std::uint64_t key, std::uint64_t sequence) {
    const std::uint32_t slot = meta_.find(shard, key);
    const bool newer = slot != fw::cuckoo_map::none &&
                       meta_.oob()[meta_.mapping(shard).page(slot)].sequence > sequence;
    if (!newer) drop(shard, key);
  }
  /// The shard of an erase block, by its other pages; -1 if none tells.
  std::int64_t shard_of_block(std::uint32_t block, page_owners& shard_of_page) const {
    const std::uint32_t size = meta_.shape().pages_per_block;
    std::int64_t shard = -1;
    for (std::uint32_t k = 0; k < size && shard < 0; ++k) {
      const fw::oob_entry& e = meta_.oob()[block * size + k];
      if (e.is_sealed()) shard = shard_of_page(e);
    }
    return shard;
  }

  fw::metadata meta_;
  fw::doubt_record known_;
  std::vector<std::uint64_t> horizons_;  ///< a shard's pages up to that sequence do not count
  std::vector<bool> records_;            ///< erase blocks whose live record was damaged
  std::vector<std::uint32_t> pages_;     ///< whose entry was damaged
  std::uint64_t doubtful_ = 0;           ///< shards, by bit
  bool found_ = false;
  bool any_ = false;  ///< what is known of doubts has to be written down anew
};

}  // namespace gnstor::detail
