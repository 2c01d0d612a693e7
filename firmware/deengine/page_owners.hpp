#pragma once

#include <deengine/metadata.hpp>
#include <gnstor/io/placement.hpp>

namespace gnstor::detail {

/// Finds the shards of valid pages. Neighbours are mostly of one volume, whose record is read once.
class page_owners {
 public:
  using recovery_table = fw::permission_table<thread_scope_system>;

  page_owners(const fw::metadata& meta, const recovery_table& table) : meta_(meta), table_(table) {}

  /// The shard a page belongs to whose entry is sealed, or -1 if its volume is gone, or was spread
  /// and the page belongs on another SSD.
  std::int64_t operator()(const fw::oob_entry& e) {
    if (e.vid.value != vid_) learn(e.vid.value);
    if (!known_ || generation_ != e.generation || e.block.value >= capacity_blocks_) return -1;
    const std::uint32_t stripe = e.block.value / stripe_blocks_;
    if (drops_ != 0 && !belongs(e, stripe, drops_) && !belongs(e, stripe, spread_)) return -1;
    return fw::shard_of(e.vid, stripe, meta_.shape().shards);
  }

 private:
  bool belongs(const fw::oob_entry& e, std::uint32_t stripe, std::uint32_t ssd_count) const {
    const ssd_index place(static_cast<std::uint16_t>(meta_.header().place));
    return rendezvous_placement(ssd_count).holds(e.vid, hash_factor_, stripe, replicas_, place);
  }
  void learn(std::uint16_t vid) {
    vid_ = vid;
    const std::uint32_t at = meta_.volume_index()[vid];
    known_ = at != 0;
    if (!known_) return;
    const wire::afa::volume_record r = table_.read(at - 1);
    generation_ = table_.generation(at - 1);
    capacity_blocks_ = r.capacity_blocks;
    stripe_blocks_ = r.stripe_blocks;
    hash_factor_ = r.hash_factor;
    replicas_ = r.replicas;
    // While it moves, what belongs here by the placement with one SSD fewer stays, too: before it
    // grew, and when it will have become narrower. What the spread before this one had dropped does
    // not come back, or is written anew.
    const bool moved = r.spread == wire::afa::volume_spread::moved ||
                       r.spread == wire::afa::volume_spread::gathering;
    const bool drops = moved || r.spread == wire::afa::volume_spread::dropping;
    spread_ = r.ssd_count;
    drops_ = drops ? r.ssd_count - (moved ? 1 : 0) : 0;
  }

  fw::metadata meta_;
  recovery_table table_;
  std::uint32_t vid_ = ~0u;
  bool known_ = false;
  std::uint32_t generation_ = 0;
  std::uint64_t capacity_blocks_ = 0;
  std::uint32_t stripe_blocks_ = 1;
  std::uint64_t hash_factor_ = 0;
  std::uint32_t replicas_ = 0;
  std::uint32_t spread_ = 0;  ///< SSDs it is spread over
  /// Likewise, or before it moved, where pages go that belong by neither; else 0.
  std::uint32_t drops_ = 0;
};

}  // namespace gnstor::detail
