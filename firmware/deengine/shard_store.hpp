#pragma once

#include <deengine/admission.hpp>
#include <deengine/metadata.hpp>
#include <gnstor/simt/copy.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/nvme/status.hpp>

namespace gnstor::fw {

/// What the owner of a shard does to it: pages that are allocated, mapped, dropped and moved (a
/// reference). Commands were checked before.
/// @par Callers the shard's owner, one lane where no group is given
/// @tparam Scope the widest distance between two callers
template <thread_scope Scope>
class shard_store {
 public:
  static constexpr std::uint32_t none = cuckoo_map::none;

  /// @param data `meta.shape().pages` pages of `block_bytes`
  GNSTOR_HD shard_store(const metadata& meta, char* data, const reader_grace<Scope>& grace,
                        std::uint32_t shard)
      : meta_(meta), data_(data), flash_(meta.flash<Scope>(grace)), shard_(shard) {}

  /// As `engine_ref::allocate`.
  GNSTOR_HD std::uint16_t allocate(const admission& a, std::uint32_t* pages, bool& few) const {
    if (flash_.reserve(shard_, a.blocks, pages, few)) return 0;
    forget_deleted();
    if (flash_.reserve(shard_, a.blocks, pages, few)) return 0;
    return make_status(wire::nvme::generic_status::capacity_exceeded);
  }

  /// As `engine_ref::commit`.
  GNSTOR_HD std::uint16_t commit(const admission& a, const std::uint32_t* pages,
                                 bool& again) const {
    shard_state& s = state();
    std::uint32_t added = 0;
    for (std::uint32_t k = 0; k < a.blocks; ++k)
      added += meta_.find(shard_, a.key(k)) == none ? 1 : 0;
    const std::uint32_t room = meta_.mapping(shard_).capacity() / 8 * 7;
    if (s.mapped + added > room || !afford(added)) forget_deleted();
    // After the sweep: one that covers this volume's deletion never comes again.
    if (a.deletions != deletions() && !volumes().alive(a.vid, a.generation))
      return give_up(a, pages, wire::afa::make_status(wire::afa::status::unknown_volume));
    if (s.mapped + added > room)
      return give_up(a, pages, wire::afa::make_status(wire::afa::status::mapping_full));
    again = !afford(added) && sweeping();
    if (again) return 0;
    if (s.credit < added)
      return give_up(a, pages, make_status(wire::nvme::generic_status::capacity_exceeded));
    const simt::release_stores<Scope> shown;  // the pages' data, to those who `glance`
    for (std::uint32_t k = 0; k < a.blocks; ++k) {
      if (enter(a.vid, a.key(k), pages[k], shown)) continue;
      for (std::uint32_t rest = k; rest < a.blocks; ++rest) flash_.invalidate(shard_, pages[rest]);
      return wire::afa::make_status(wire::afa::status::mapping_full);
    }
    return 0;
  }

  /// As `engine_ref::abandon`.
  GNSTOR_HD void abandon(const admission& a, const std::uint32_t* pages) const {
    for (std::uint32_t k = 0; k < a.blocks; ++k) flash_.invalidate(shard_, pages[k]);
  }

  /// Makes the block of a key unwritten.
  GNSTOR_HD void drop(std::uint64_t key) const {
    cuckoo_map map = meta_.mapping(shard_);
    const std::uint32_t slot = meta_.find(shard_, key);
    if (slot == none) return;
    const std::uint32_t page = map.page(slot);
    map.erase(slot);
    --state().mapped;
    repay();
    flash_.invalidate(shard_, page);
  }

  /// As `engine_ref::tend`.
  GNSTOR_HD bool tend(std::uint32_t blocks) const { return tended(*this, blocks); }
  /// As `engine_ref::reap`.
  GNSTOR_HD void reap() const { reaped(*this); }
  /// True if blocks or pages are few, so that those of deleted volumes are asked for.
  GNSTOR_HD bool scarce() const {
    const atomic_ref<std::uint32_t, Scope> credit(meta_.header().credit);
    const std::uint32_t all_want = meta_.shape().credit_step() * meta_.shape().shards;
    return flash_.short_of_blocks() ||
           static_cast<std::int32_t>(credit.load(relaxed)) < static_cast<std::int32_t>(all_want);
  }
  /// Drops the pages of every volume deleted before this call.
  GNSTOR_HD void forget_deleted() const {
    // At most one sweep can be under way: the second covers every deletion.
    for (int sweep = 0; sweep < 2; ++sweep) {
      if (!tend(flash_.blocks())) break;
    }
  }

  /// As `engine_ref::collect`.
  /// @par Callers every lane of `g`, converged
  template <simt::warp_group G>
  GNSTOR_HD bool collect(const G& g, std::uint32_t pages) const {
    return collected(*this, g, pages);
  }

 private:
  /// A page whose contents are to be moved.
  struct page_move {
    std::uint32_t from = none;  ///< `none`: nothing now
    std::uint32_t to = none;
    std::uint32_t more = 0;  ///< nothing now, but blocks are few: ask again
  };

  // What is rarely done is not inlined, and takes the store by value: what is done all the time
  // stays close together, and in registers.
  GNSTOR_HD_SLOW static void reaped(const shard_store self) { self.flash_.reap(self.shard_); }
  GNSTOR_HD_SLOW static bool tended(const shard_store self, std::uint32_t blocks) {
    return self.tend_now(blocks);
  }
  template <simt::warp_group G>
  GNSTOR_HD_SLOW static bool collected(const shard_store self, const G g, std::uint32_t pages) {
    return self.collect_now(g, pages);
  }

  GNSTOR_HD bool tend_now(std::uint32_t blocks) const {
    shard_state& s = state();
    flash_.reap(shard_);
    const std::uint32_t deleted = deletions();
    if (s.swept == deleted) return false;
    if (s.sweep_at == 0) s.sweep_goal = deleted;
    for (std::uint32_t k = 0; k < blocks && s.sweep_at < flash_.blocks(); ++k) sweep(s.sweep_at++);
    if (s.sweep_at == flash_.blocks()) {
      s.sweep_at = 0;
      swept(shard_).store(s.sweep_goal, relaxed);
    }
    return s.swept != deleted;
  }

  template <simt::warp_group G>
  GNSTOR_HD bool collect_now(const G& g, std::uint32_t pages) const {
    for (std::uint32_t k = 0; k < pages; ++k) {
      page_move m;
      if (g.thread_rank() == 0) m = next_move();
      m.from = g.shfl(m.from, 0);
      m.to = g.shfl(m.to, 0);
      if (m.from == none) return g.shfl(m.more, 0) != 0;
      g.sync();
      simt::copy(g, page(m.to), page(m.from), block_bytes);
      g.sync();
      if (g.thread_rank() == 0) finish(m);
      g.sync();
    }
    return true;
  }

  GNSTOR_HD static std::uint16_t make_status(wire::nvme::generic_status s) {
    return wire::nvme::make_status(s);
  }
  GNSTOR_HD shard_state& state() const { return meta_.shard(shard_); }
  GNSTOR_HD permission_table<Scope> volumes() const {
    return meta_.template volumes_table<Scope>();
  }
  GNSTOR_HD std::uint32_t deletions() const {
    return atomic_ref<std::uint32_t, Scope>(meta_.header().deletions).load(acquire);
  }
  /// Deletions whose pages a shard has dropped. Only its owner changes that.
  GNSTOR_HD atomic_ref<std::uint32_t, Scope> swept(std::uint32_t shard) const {
    return atomic_ref<std::uint32_t, Scope>(meta_.shard(shard).swept);
  }
  /// True while pages of deleted volumes are still to be dropped, in any shard.
  GNSTOR_HD bool sweeping() const {
    const std::uint32_t deleted = deletions();
    for (std::uint32_t k = 0; k < meta_.shape().shards; ++k) {
      if (swept(k).load(relaxed) != deleted) return true;
    }
    return false;
  }
  GNSTOR_HD char* page(std::uint32_t number) const {
    return data_ + std::uint64_t{number} * block_bytes;
  }

  GNSTOR_HD std::uint16_t give_up(const admission& a, const std::uint32_t* pages,
                                  std::uint16_t status) const {
    abandon(a, pages);
    return status;
  }

  /// Maps `key` to `page`; false when the mapping table refuses.
  GNSTOR_HD bool enter(volume_id vid, std::uint64_t key, std::uint32_t page,
                       const simt::release_stores<Scope>& shown) const {
    shard_state& s = state();
    cuckoo_map map = meta_.mapping(shard_);
    const std::uint32_t slot = meta_.find(shard_, key);
    if (slot == none && !map.insert(key, page)) return false;
    meta_.oob()[page].put(oob_entry::of(vid, key, s.sequence++), shown);
    // A process killed here has both pages, and recovery takes the one of the higher sequence.
    cuda::std::atomic_signal_fence(release);
    if (slot == none) {
      ++s.mapped;
      --s.credit;
    } else {
      const std::uint32_t old = map.page(slot);
      map.replace(slot, page);
      flash_.invalidate(shard_, old);
    }
    return true;
  }

  /// Sees to it that the shard may map `added` pages more than it does. False: the SSD's volumes
  /// hold all they can.
  GNSTOR_HD bool afford(std::uint32_t added) const {
    shard_state& s = state();
    if (s.credit >= added) return true;
    const std::uint32_t missing = added - s.credit;
    const std::uint32_t step = meta_.shape().credit_step();
    const std::uint32_t wanted = missing > step ? missing : step;
    const atomic_ref<std::uint32_t, Scope> common(meta_.header().credit);
    const std::uint32_t before = common.fetch_sub(wanted, relaxed);
    // Below zero, for a moment, it is a large number.
    const std::uint32_t there = static_cast<std::int32_t>(before) < 0 ? 0 : before;
    const std::uint32_t got = there < wanted ? there : wanted;
    if (got < wanted) common.fetch_add(wanted - got, relaxed);
    s.credit += got;
    return s.credit >= added;
  }
  /// A page is mapped no more.
  GNSTOR_HD void repay() const {
    shard_state& s = state();
    const std::uint32_t step = meta_.shape().credit_step();
    if (++s.credit < 2 * step) return;
    s.credit -= step;
    atomic_ref<std::uint32_t, Scope>(meta_.header().credit).fetch_add(step, relaxed);
  }

  /// Drops the pages of deleted volumes in one block, if the shard owns it. A pin of its own keeps
  /// the block meanwhile.
  GNSTOR_HD void sweep(std::uint32_t block) const {
    if (!flash_.owned_by(block, shard_)) return;
    const std::uint32_t first = block * flash_.pages_per_block();
    flash_.pin(first);
    for (std::uint32_t k = 0; k < flash_.pages_per_block(); ++k) {
      const oob_entry& e = meta_.oob()[first + k];
      if (e.state == page_state::valid && !volumes().alive(e.vid, e.generation)) drop(e.key());
    }
    flash_.unpin(first);
    flash_.reap(shard_);
  }

  /// The next page to move, with one to move it to. Pages of deleted volumes are dropped instead.
  GNSTOR_HD page_move next_move() const {
    shard_state& s = state();
    flash_.reap(shard_);
    if (!flash_.short_of_blocks()) return {};
    const std::uint32_t size = flash_.pages_per_block();
    if (!flash_.prepare_move(shard_)) return {none, none, flash_.collecting(shard_) ? 1u : 0u};
    for (; s.victim_at < size; ++s.victim_at) {
      const std::uint32_t from = s.victim * size + s.victim_at;
      const oob_entry& e = meta_.oob()[from];
      if (e.state != page_state::valid) continue;
      if (volumes().alive(e.vid, e.generation)) return {from, flash_.target_page(shard_), 1};
      drop(e.key());
    }
    GNSTOR_VERIFY(flash_.state(s.victim).live == 0);
    return {none, none, 1};
  }
  /// Makes the copy the contents of its block. Who looks beside the owner finds either, and both
  /// are the same until the old one's grace period is over.
  GNSTOR_HD void finish(const page_move& m) const {
    const oob_entry e = meta_.oob()[m.from];
    const simt::release_stores<Scope> shown;
    GNSTOR_VERIFY(enter(e.vid, e.key(), m.to, shown));
    flash_.moved(shard_);
  }

  metadata meta_;
  char* data_;
  flash_log<Scope> flash_;
  std::uint32_t shard_;
};

}  // namespace gnstor::fw
