#pragma once

#include <deengine/admission.hpp>
#include <deengine/array_epoch.hpp>
#include <deengine/metadata.hpp>
#include <deengine/page_crc.hpp>
#include <deengine/page_mover.hpp>
#include <deengine/trim_journal.hpp>
#include <gnstor/io/placement.hpp>
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
  static constexpr thread_scope scope = Scope;

  /// @param data `meta.shape().pages` pages of `block_bytes`
  GNSTOR_HD shard_store(const metadata& meta, char* data,
                        const reader_quiescence<Scope>& quiescence, std::uint32_t shard)
      : meta_(meta), data_(data), flash_(meta.flash<Scope>(quiescence)), shard_(shard) {}

  /// As `engine_ref::allocate`.
  GNSTOR_HD std::uint16_t allocate(const admission& a, std::uint32_t* pages, bool& few) const {
    if (flash_.reserve(shard_, a.blocks, pages, few)) return 0;
    forget_deleted();
    if (flash_.reserve(shard_, a.blocks, pages, few)) return 0;
    return wire::nvme::make_status(wire::nvme::generic_status::capacity_exceeded);
  }

  /// As `engine_ref::commits_simply`.
  GNSTOR_HD bool commits_simply(const admission& a) const {
    const shard_state& s = state();
    return a.changes == serving().changes() && s.credit >= a.blocks &&
           s.mapped + a.blocks <= meta_.mapping(shard_).room() && !meta_.through().any();
  }
  /// As `engine_ref::commit_simply`.
  GNSTOR_HD std::uint16_t commit_simply(const admission& a, const std::uint32_t* pages) const {
    meta_.template dirty<Scope>().mark(a.dirties);
    const simt::release_stores<Scope> shown;  // the pages' data, to those who `peek`
    for (std::uint32_t k = 0; k < a.blocks; ++k) {
      if (enter(a.vid, a.key(k), pages[k], shown)) continue;
      for (std::uint32_t rest = k; rest < a.blocks; ++rest) flash_.invalidate(shard_, pages[rest]);
      return wire::afa::make_status(wire::afa::status::mapping_full);
    }
    return 0;
  }
  /// As `engine_ref::commit`.
  GNSTOR_HD std::uint16_t commit(const admission& a, const write_claim& by,
                                 const std::uint32_t* pages, bool& again) const {
    shard_state& s = state();
    const std::uint32_t room = meta_.mapping(shard_).room();
    std::uint32_t added = a.blocks;  // at most
    if (s.mapped + added > room || s.credit < added) {
      added = 0;
      for (std::uint32_t k = 0; k < a.blocks; ++k)
        added += meta_.find(shard_, a.key(k)) == none ? 1 : 0;
      if (s.mapped + added > room || !afford(added)) forget_deleted();
    }
    // After the sweep: one that covers this volume's deletion never comes again.
    const std::uint16_t refused = still_refused(a, by, wire::afa::right_write);
    if (refused != 0) return give_up(a, pages, refused);
    if (s.mapped + added > room)
      return give_up(a, pages, wire::afa::make_status(wire::afa::status::mapping_full));
    again = !afford(added) && sweeping();
    if (again) return 0;
    // What others have swept is there by now.
    if (!afford(added))
      return give_up(a, pages,
                     wire::nvme::make_status(wire::nvme::generic_status::capacity_exceeded));
    if (!meta_.through().any()) return commit_simply(a, pages);
    if (!has_room(a, pages, 0, a.blocks))
      return give_up(a, pages, wire::afa::make_status(wire::afa::status::mapping_full));
    meta_.template dirty<Scope>().mark(a.dirties);
    write_down(a, pages, 0, a.blocks);
    const std::uint16_t status = commit_simply(a, pages);
    if (status != 0) take_back(a, pages);
    return status;
  }

  /// As `engine_ref::commit_fill`.
  GNSTOR_HD std::uint16_t commit_fill(const admission& a, const write_claim& by,
                                      const std::uint32_t* pages, bool unreadable) const {
    const std::uint16_t refused = still_refused(a, by, wire::afa::right_fill);
    if (refused != 0) return give_up(a, pages, refused);
    const bool fills = serving().is_filling();
    const simt::release_stores<Scope> shown;
    for (std::uint32_t k = 0; k < a.blocks; ++k) {
      const std::uint32_t slot = meta_.find(shard_, a.key(k));
      // What an SSD in sync does not have was deallocated, unless it cannot tell.
      const bool lacks = fills || meta_.header().doubts.covers(shard_, a.generation);
      if (slot == none ? !lacks : is_sound(meta_.mapping(shard_).page(slot))) {
        flash_.invalidate(shard_, pages[k]);
        continue;
      }
      // What is taken may have reached one replica alone, whose SSD may be lost, with its marks.
      meta_.template dirty<Scope>().mark(a.dirties);
      oob_entry& e = meta_.oob()[pages[k]];
      if (unreadable) e.set_crc(~gnstor::detail::page_crc_alone(page(pages[k])));
      std::uint16_t full = 0;
      if (slot == none && !afford(1)) {
        full = wire::nvme::make_status(wire::nvme::generic_status::capacity_exceeded);
      } else {
        const bool placed = !meta_.through().any() || has_room(a, pages, k, 1);
        if (meta_.through().any() && placed) write_down(a, pages, k, 1);
        if (!placed || !enter(a.vid, a.key(k), pages[k], shown))
          full = wire::afa::make_status(wire::afa::status::mapping_full);
      }
      if (full == 0) continue;
      for (std::uint32_t rest = k; rest < a.blocks; ++rest) flash_.invalidate(shard_, pages[rest]);
      if (meta_.through().any()) take_back(a, pages);
      return full;
    }
    return 0;
  }

  /// As `engine_ref::abandon`.
  GNSTOR_HD void abandon(const admission& a, const std::uint32_t* pages) const {
    for (std::uint32_t k = 0; k < a.blocks; ++k) flash_.invalidate(shard_, pages[k]);
  }

  /// As `engine_ref::deallocate`.
  GNSTOR_HD std::uint16_t deallocate(const admission& a, const write_claim& by,
                                     bool forgets) const {
    const std::uint16_t refused =
        still_refused(a, by, forgets ? wire::afa::right_fill : wire::afa::right_write);
    if (refused != 0) return refused;
    if (forgets && !serving().is_filling())
      return wire::afa::make_status(wire::afa::status::not_permitted);
    bool any = false;
    for (std::uint32_t k = 0; k < a.blocks; ++k) any = any || meta_.find(shard_, a.key(k)) != none;
    if (any || forgets) meta_.template dirty<Scope>().mark(a.dirties);
    if (!any) return 0;
    meta_.through().order();
    const trim_journal<Scope> journal(meta_.trims(shard_), meta_.shape().trim_cells(), flash_,
                                      state(), shard_);
    journal.add(a.generation, a.first, a.blocks);
    for (std::uint32_t k = 0; k < a.blocks; ++k) drop(a.key(k));
    return 0;
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
  /// True if the page of an entry stays on this SSD: its volume is there, and has not been spread
  /// to where the block belongs elsewhere. A table that keeps changing counts as yes.
  GNSTOR_HD bool keeps(const oob_entry& e) const {
    using grants = permission_table<Scope>;
    volume_grant g;
    const typename grants::answer a = volumes().find(e.vid, client_id(0), g);
    if (a == grants::answer::changing) return true;
    if (a != grants::answer::found || g.generation != e.generation) return false;
    if (state().swept == deletions()) return true;  // what has moved away was dropped
    // Asked later than the placement: who finds an older one keeps more.
    if (volumes().spread(e.vid) != wire::afa::volume_spread::dropping) return true;
    const array_epoch<Scope> serving(meta_.header());
    const ssd_index place(static_cast<std::uint16_t>(serving.place()));
    return rendezvous_placement(g.ssd_count)
        .holds(e.vid, g.hash_factor, e.block.value / g.stripe_blocks, g.replicas, place);
  }
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

  // What it is a view of, for its parts:
  GNSTOR_HD const metadata& meta() const { return meta_; }
  GNSTOR_HD const flash_log<Scope>& flash() const { return flash_; }
  GNSTOR_HD std::uint32_t number() const { return shard_; }
  GNSTOR_HD char* page(std::uint32_t number) const {
    return data_ + std::uint64_t{number} * block_bytes;
  }

 private:
  // What is rarely done is not inlined, and takes the store by value: what is done all the time
  // stays close together, and in registers.
  GNSTOR_HD_SLOW static void reaped(const shard_store self) { self.flash_.reap(self.shard_); }
  GNSTOR_HD_SLOW static bool tended(const shard_store self, std::uint32_t blocks) {
    return self.tend_now(blocks);
  }
  template <simt::warp_group G>
  GNSTOR_HD_SLOW static bool collected(const shard_store self, const G g, std::uint32_t pages) {
    return page_mover(self).run(g, pages);
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
      swept(shard_).store(s.sweep_goal, release);  // and the credit of what was dropped
    }
    return s.swept != deleted;
  }

  GNSTOR_HD shard_state& state() const { return meta_.shard(shard_); }
  GNSTOR_HD permission_table<Scope> volumes() const {
    return meta_.template volumes_table<Scope>();
  }
  GNSTOR_HD array_epoch<Scope> serving() const { return array_epoch<Scope>(meta_.header()); }
  /// Why a write that was admitted before the last change may not be committed now; 0: it may.
  GNSTOR_HD std::uint16_t still_refused(const admission& a, const write_claim& by,
                                        std::uint32_t right) const {
    using wire::afa::status;
    if (a.changes == serving().changes()) return 0;
    volume_grant grant;
    const auto found = volumes().find(a.vid, by.client, grant);
    if (found == permission_table<Scope>::answer::changing)
      return wire::nvme::make_status(wire::nvme::generic_status::command_interrupted);
    if (found == permission_table<Scope>::answer::absent || grant.generation != a.generation)
      return wire::afa::make_status(status::unknown_volume);
    if (serving().now() != by.epoch) return wire::afa::make_status(status::stale_epoch);
    if ((grant.rights & right) == 0) return wire::afa::make_status(status::not_permitted);
    return grant.is_held(right, by.epoch) ? wire::afa::make_status(status::stale_epoch)
                                          : std::uint16_t{0};
  }
  /// True if a page's data is what was written.
  GNSTOR_HD bool is_sound(std::uint32_t number) const {
    return gnstor::detail::page_crc_alone(page(number)) == meta_.oob()[number].data_crc();
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
      if (swept(k).load(acquire) != deleted) return true;
    }
    return false;
  }
  GNSTOR_HD std::uint16_t give_up(const admission& a, const std::uint32_t* pages,
                                  std::uint16_t status) const {
    abandon(a, pages);
    return status;
  }

  /// Tells flash that pages are the contents of blocks `first` and so on of a command, as `enter`
  /// is about to tell everybody: nobody sees what a kill takes back.
  GNSTOR_HD void write_down(const admission& a, const std::uint32_t* pages, std::uint32_t first,
                            std::uint32_t count) const {
    const write_through& flash = meta_.through();
    const auto entry = [&](std::uint32_t k) {
      return oob_entry::of(a.vid, a.key(k), state().sequence + k - first);
    };
    for (std::uint32_t k = first; k < first + count; ++k)
      meta_.oob()[pages[k]].write_ahead(entry(k), flash);
    flash.order();
    for (std::uint32_t k = first; k < first + count; ++k)
      meta_.oob()[pages[k]].write_down(entry(k), flash);
    flash.order();
  }
  /// True if the mapping takes the keys of blocks `first` and so on of a command: no mount finds
  /// more in flash than it can map.
  GNSTOR_HD bool has_room(const admission& a, const std::uint32_t* pages, std::uint32_t first,
                          std::uint32_t count) const {
    cuckoo_map map = meta_.mapping(shard_);
    bool all = true;
    for (std::uint32_t k = first; k < first + count && all; ++k)
      all = meta_.find(shard_, a.key(k)) != none || map.insert(a.key(k), pages[k]);
    for (std::uint32_t k = first; k < first + count; ++k) {
      // Nobody has seen them: the pages' entries do not name the keys yet.
      const auto mine = [page = pages[k]](std::uint32_t there) { return there == page; };
      const std::uint32_t slot = map.find(a.key(k), mine);
      if (slot != none) map.erase(slot);
    }
    return all;
  }
  /// Takes back from flash which pages were not entered.
  GNSTOR_HD void take_back(const admission& a, const std::uint32_t* pages) const {
    for (std::uint32_t k = 0; k < a.blocks; ++k) {
      oob_entry& e = meta_.oob()[pages[k]];
      if (e.state == page_state::stale) e.take_back(meta_.through());
    }
    meta_.through().order();
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
    const std::uint32_t kept = got < missing ? 0 : got;  // nobody keeps what does not suffice
    if (kept < wanted) common.fetch_add(wanted - kept, relaxed);
    s.credit += kept;
    return s.credit >= added;
  }
  /// A page is mapped no more.
  GNSTOR_HD void repay() const {
    shard_state& s = state();
    const std::uint32_t step = meta_.shape().credit_step();
    if (++s.credit < 2 * step) return;
    atomic_ref<std::uint32_t, Scope>(meta_.header().credit).fetch_add(s.credit - step, relaxed);
    s.credit = step;
  }

  /// Drops the pages of deleted volumes in one block, if the shard owns it. A pin of its own keeps
  /// the block meanwhile.
  GNSTOR_HD void sweep(std::uint32_t block) const {
    if (!flash_.owned_by(block, shard_)) return;
    const std::uint32_t first = block * flash_.pages_per_block();
    flash_.pin(first);
    for (std::uint32_t k = 0; k < flash_.pages_per_block(); ++k) {
      const oob_entry& e = meta_.oob()[first + k];
      if (e.state == page_state::valid && !keeps(e)) drop(e.key());
    }
    flash_.unpin(first);
    flash_.reap(shard_);
  }

  metadata meta_;
  char* data_;
  flash_log<Scope> flash_;
  std::uint32_t shard_;
};

}  // namespace gnstor::fw
