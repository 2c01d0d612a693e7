#pragma once

#include <deengine/metadata.hpp>
#include <gnstor/simt/copy.hpp>
#include <gnstor/simt/warp.hpp>

#include <cuda/std/bit>

namespace gnstor::fw {

/// Garbage collection of one shard: moves the live pages of blocks that have few together, so that
/// the blocks come back (a reference).
/// @tparam Store `shard_store`, of which it is a part
template <class Store>
class page_mover {
 public:
  static constexpr thread_scope scope = Store::scope;

  GNSTOR_HD explicit page_mover(const Store& store)
      : store_(store), meta_(store.meta()), flash_(store.flash()), shard_(store.number()) {}

  /// As `engine_ref::collect`.
  /// @par Callers every lane of `g`, converged
  template <simt::warp_group G>
  GNSTOR_HD bool run(const G& g, std::uint32_t pages) const {
    for (std::uint32_t k = 0; k < pages; k += g.size()) {
      plan p;
      if (g.thread_rank() == 0) p = plan_moves();
      p.first = g.shfl(p.first, 0);
      if (p.first == none) return g.shfl(p.more, 0) != 0;
      p.count = g.shfl(p.count, 0);
      p.to = g.shfl(p.to, 0);
      p.room = g.shfl(p.room, 0);
      p.sequence = g.shfl(p.sequence, 0);
      g.sync();
      move(g, p);
      g.sync();
    }
    return true;
  }

 private:
  static constexpr std::uint32_t none = cuckoo_map::none;

  /// Pages of the victim that may be moved, a lane each.
  struct plan {
    std::uint32_t first = none;  ///< `none`: nothing now
    std::uint32_t more = 0;      ///< nothing now, but blocks are few: ask again
    std::uint32_t count = 0;     ///< pages from the first to the end of the victim
    std::uint32_t to = 0;        ///< where the first that is live goes, and the next behind it
    std::uint32_t room = 0;      ///< pages from there to the end of the target
    std::uint64_t sequence = 0;  ///< of the first
  };

  GNSTOR_HD plan plan_moves() const {
    plan p;
    flash_.reap(shard_);
    if (!flash_.short_of_blocks()) return p;
    const shard_state& s = meta_.shard(shard_);
    if (!flash_.prepare_move(shard_)) {
      p.more = flash_.collecting(shard_) ? 1 : 0;
      return p;
    }
    const std::uint32_t size = flash_.pages_per_block();
    p.first = s.victim * size + s.victim_at;
    p.count = size - s.victim_at;
    p.to = s.target * size + s.target_at;
    p.room = size - s.target_at;
    p.sequence = s.sequence;
    return p;
  }

  /// Moves as many of the planned pages as there are lanes and room. Those of deleted volumes, and
  /// those that belong elsewhere, are dropped instead. Who looks beside the owner finds a page or
  /// its copy, and both are the same until the page's quiescence period is over.
  /// @par Callers every lane of `g`, converged, with the same plan
  template <simt::warp_group G>
  GNSTOR_HD void move(const G& g, const plan& p) const {
    const std::uint32_t rank = g.thread_rank();
    oob_entry& from = meta_.oob()[p.first + (rank < p.count ? rank : 0)];
    const oob_entry e = from;
    const bool valid = rank < p.count && e.state == page_state::valid;
    const bool alive = valid && store_.keeps(e);
    const std::uint32_t dead = g.ballot(valid && !alive);
    const std::uint32_t live = g.ballot(alive);
    const auto before = static_cast<std::uint32_t>(cuda::std::popcount(live & ((1u << rank) - 1)));
    const bool mine = alive && before < p.room;
    for (std::uint32_t left = g.ballot(mine), n = 0; left != 0; left &= left - 1, ++n) {
      const auto lane = static_cast<std::uint32_t>(cuda::std::countr_zero(left));
      simt::copy(g, store_.page(p.to + n), store_.page(p.first + lane), block_bytes);
    }
    cuckoo_map map = meta_.mapping(shard_);
    const std::uint32_t slot = mine ? meta_.find(shard_, e.key()) : none;
    g.sync();
    if (mine) {
      GNSTOR_VERIFY(slot != none);
      // As it is, not computed anew: data that is wrong stays known to be.
      oob_entry& to = meta_.oob()[p.to + before];
      to.set_crc(e.crc);
      const auto now = oob_entry::of(e.vid, e.key(), p.sequence + before);
      if (const write_through& flash = meta_.through(); flash.any()) {
        to.write_ahead(now, flash);
        flash.order();
        to.write_down(now, flash);
        flash.order();
      }
      const simt::release_stores<scope> shown;  // behind the CRC, which it releases, too
      to.put(now, shown);
      // A process killed here has both pages, and recovery takes the one of the higher sequence.
      cuda::std::atomic_signal_fence(release);
      map.replace(slot, p.to + before);
      from.become(page_state::stale);
    }
    const auto moved = static_cast<std::uint32_t>(cuda::std::popcount(g.ballot(mine)));
    const std::uint32_t kept = g.ballot(alive && !mine);  // for want of room
    g.sync();
    if (rank != 0) return;
    for (std::uint32_t left = dead; left != 0; left &= left - 1)
      store_.drop(meta_.oob()[p.first + cuda::std::countr_zero(left)].key());
    const std::uint32_t seen = p.count < g.size() ? p.count : g.size();
    meta_.shard(shard_).sequence += moved;
    if (moved != 0)
      atomic_ref<std::uint64_t, scope>(meta_.header().moved).fetch_add(moved, relaxed);
    flash_.moved(shard_, moved, kept == 0 ? seen : cuda::std::countr_zero(kept));
  }

  const Store& store_;
  const metadata& meta_;
  const flash_log<scope>& flash_;
  std::uint32_t shard_;
};

}  // namespace gnstor::fw
