#pragma once

#include <deengine/admission.hpp>
#include <deengine/metadata.hpp>
#include <deengine/request.hpp>
#include <gnstor/simt/warp.hpp>
#include <gnstor/volume/placement.hpp>

namespace gnstor::fw {

/// The firmware of one SSD: access control, mapping and flash (a reference: trivially copyable,
/// passed by value).
///
/// A command is checked by anybody; its data calls are made by the owner of its shard (one CPU
/// thread or GPU warp at a time, one lane where no group is given); pages are copied by anybody.
/// The life of a read is `check`, `lookup`, copy, `unpin` of each page, or `check`, `glance`, copy
/// where a reader looks for itself; of a write `check`, `allocate`, copy, `commit` or `abandon`.
/// Statuses are NVMe status fields, 0 for success. GNStor, 4.3.
/// @tparam Scope the widest distance between two callers
template <thread_scope Scope>
class engine_ref {
 public:
  /// The block was never written: its bytes are zero.
  static constexpr std::uint32_t no_page = cuckoo_map::none;

  /// @param meta a mounted metadata block of geometry `g`
  /// @param data `g.pages` pages of `block_bytes`
  /// @param grace of those who `glance`
  GNSTOR_HD engine_ref(void* meta, const geometry& g, void* data,
                       const reader_grace<Scope>& grace = {})
      : meta_(meta, g), data_(static_cast<char*>(data)), grace_(grace) {}

  GNSTOR_HD const geometry& shape() const { return meta_.shape(); }
  GNSTOR_HD ssd_index self() const {
    return ssd_index(static_cast<std::uint16_t>(meta_.header().self));
  }
  GNSTOR_HD std::uint32_t ssd_count() const { return meta_.header().ssd_count; }
  GNSTOR_HD std::uint32_t epoch() const { return header32(meta_.header().epoch).load(acquire); }
  GNSTOR_HD std::uint32_t shard_of(volume_id vid, std::uint32_t stripe) const {
    return fw::shard_of(vid, stripe, shape().shards);
  }

  /// Decides whether a command may run, and where.
  /// @par Callers anybody
  /// @par Errors the first that holds, of: invalid field (no blocks), wrong_client, stale_epoch,
  /// unknown_volume, command interrupted (the volume kept changing: try again), not_permitted,
  /// beyond_capacity, crosses_stripe, wrong_ssd
  GNSTOR_HD admission check(const request& r) const {
    known_grant nothing{};
    return check(r, nothing);
  }
  /// The same for somebody who keeps a grant of this SSD from command to command.
  /// @param known what is known, and then what was found
  GNSTOR_HD admission check(const request& r, known_grant& known) const {
    // Before the volume's version: whoever counts a deletion finds the volume gone. Only `commit`
    // asks.
    const std::uint32_t deleted = r.write ? deletions() : 0;
    foresight now;
    look_at_rights(known, now);
    admission a = check_rights(r, known, now);
    a.deletions = deleted;
    return !a.ok() || belongs(a, known) ? a : refuse(wire::afa::status::wrong_ssd);
  }

  /// What a reader has seen before its command is checked: loads that need no order wait for memory
  /// together.
  struct foresight {
    static constexpr std::uint32_t nothing = ~0u;
    std::uint32_t epoch;
    std::uint32_t shard = nothing;  ///< whose mapping was looked at
    std::uint64_t version;          ///< `permission_table::version_now`
    cuckoo_map::sighting seen;
  };
  /// Asks what a check needs, and looks for a read's first block where it is if what is `known`
  /// still holds.
  /// @par Callers as `glance`, before `check_rights`
  GNSTOR_HD void foresee(const request& r, const known_grant& known, foresight& out) const {
    look_at_rights(known, out);
    if (known.slot == nullptr || known.vid != r.vid.value) return;
    admission a;
    a.generation = known.generation;
    a.first = r.first;
    out.shard = shard_of(r.vid, known.stripe.quotient(r.first.value));
    meta_.mapping(out.shard).glance(a.key(0), out.seen);
  }
  /// All of `check` but whether the blocks belong on this SSD: who finds a page of theirs here
  /// knows that they do, since only what belongs here is written. A read's.
  GNSTOR_HD admission check_rights(const request& r, known_grant& known,
                                   const foresight& early) const {
    using wire::afa::status;
    if (r.blocks == 0)
      return refuse(wire::nvme::make_status(wire::nvme::generic_status::invalid_field));
    if (!(r.client == r.bound_client)) return refuse(status::wrong_client);
    admission a;
    volume_grant grant;
    const auto found = permissions().find(r.vid, r.client, grant, known, early.version);
    if (r.epoch != early.epoch) return refuse(status::stale_epoch);
    switch (found) {
      case permission_table<Scope>::answer::absent: return refuse(status::unknown_volume);
      case permission_table<Scope>::answer::changing:
        return refuse(wire::nvme::make_status(wire::nvme::generic_status::command_interrupted));
      case permission_table<Scope>::answer::found: break;
    }
    const std::uint32_t right = r.write ? wire::afa::right_write : wire::afa::right_read;
    if ((grant.rights & right) == 0) return refuse(status::not_permitted);
    if (std::uint64_t{r.first.value} + r.blocks > grant.capacity_blocks)
      return refuse(status::beyond_capacity);
    const std::uint32_t stripe = known.stripe.quotient(r.first.value);
    const std::uint32_t into = r.first.value - stripe * known.stripe.value();
    if (r.blocks > known.stripe.value() - into) return refuse(status::crosses_stripe);
    a.vid = r.vid;
    a.shard = shard_of(r.vid, stripe);
    a.generation = grant.generation;
    a.first = r.first;
    a.blocks = r.blocks;
    return a;
  }
  /// True if the blocks of a command belong on this SSD.
  /// @param known what `check_rights` found
  GNSTOR_HD bool belongs(const admission& a, const known_grant& known) const {
    return rendezvous_placement(ssd_count())
        .holds(a.vid, known.hash_factor, known.stripe.quotient(a.first.value), known.replicas,
               self());
  }

  /// Finds the pages of a command's blocks and pins each; `no_page` for a block never written.
  /// @par Callers the shard's owner, one lane
  /// @param pages `a.blocks` entries
  GNSTOR_HD void lookup(const admission& a, std::uint32_t* pages) const {
    for (std::uint32_t k = 0; k < a.blocks; ++k) pages[k] = probe(a, k);
  }

  /// The same by all lanes of `g`: lane k probes block k, k + size and so on. `pages` is shared by
  /// the lanes.
  /// @par Callers every lane of `g`, converged, with the same arguments
  /// @par Order `g.sync()` before the first probe and after the last
  template <simt::warp_group G>
  GNSTOR_HD void lookup(const G& g, const admission& a, std::uint32_t* pages) const {
    g.sync();
    for (std::uint32_t k = g.thread_rank(); k < a.blocks; k += g.size()) pages[k] = probe(a, k);
    g.sync();
  }

  /// The page of a command's first block as one look beside the shard's owner finds it. `no_page`
  /// says nothing: ask the owner by `lookup`.
  /// @par Callers a reader of the grace that this engine was given; the page stays what it is until
  /// the reader's next `quiet`, or `unpin` after a `pin` before that
  /// @par Order acquires the page's bytes
  GNSTOR_HD std::uint32_t glance(const admission& a) const {
    foresight early;
    return glance(a, early);
  }
  /// The same with what `foresee` has seen since the reader's last `quiet`.
  GNSTOR_HD std::uint32_t glance(const admission& a, foresight& early) const {
    // Had the volume been another by then, no candidate holds this key, and the owner is asked.
    if (early.shard != a.shard) meta_.mapping(a.shard).glance(a.key(0), early.seen);
    return meta_.confirmed(early.seen, a.key(0));
  }
  /// Keeps a page found by `glance` beyond the grace period.
  GNSTOR_HD void pin(std::uint32_t page) const { flash().pin(page); }

  /// True while blocks wait for readers to pass by: an `allocate` refused now may succeed soon.
  /// @par Callers anybody
  GNSTOR_HD bool reaping() const { return grace_.holds_any(); }

  /// Takes pages for a write. They belong to the command until `commit` or `abandon`.
  /// @par Callers the shard's owner, one lane
  /// @par Errors capacity exceeded: no block can be freed now; nothing was taken
  GNSTOR_HD std::uint16_t allocate(const admission& a, std::uint32_t* pages) const {
    if (flash().reserve(a.shard, shard(a.shard), a.blocks, pages)) return 0;
    forget_deleted(a.shard);
    if (flash().reserve(a.shard, shard(a.shard), a.blocks, pages)) return 0;
    return wire::nvme::make_status(wire::nvme::generic_status::capacity_exceeded);
  }

  /// Makes written pages the contents of the command's blocks, and ends the pages they replace.
  /// @par Callers the shard's owner, one lane, once the data is in the pages
  /// @par Errors mapping_full, unknown_volume (deleted meanwhile): the pages are abandoned and the
  /// old contents stay. Only if nine keys of one shard alias may the blocks before the refused one
  /// have their new contents.
  GNSTOR_HD std::uint16_t commit(const admission& a, const std::uint32_t* pages) const {
    shard_state& s = shard(a.shard);
    std::uint32_t added = 0;
    for (std::uint32_t k = 0; k < a.blocks; ++k)
      added += meta_.find(a.shard, a.key(k)) == cuckoo_map::none ? 1 : 0;
    const std::uint32_t room = meta_.mapping(a.shard).capacity() / 8 * 7;
    if (s.mapped + added > room) forget_deleted(a.shard);
    // After the sweep: one that covers this volume's deletion never comes again.
    if (a.deletions != deletions() && !permissions().alive(a.vid, a.generation)) {
      abandon(a, pages);
      return make_status(wire::afa::status::unknown_volume);
    }
    if (s.mapped + added > room) {
      abandon(a, pages);
      return make_status(wire::afa::status::mapping_full);
    }
    const simt::release_stores<Scope> shown;  // the pages' data, to those who `glance`
    for (std::uint32_t k = 0; k < a.blocks; ++k) {
      if (place(a, k, pages[k], shown)) continue;
      for (std::uint32_t rest = k; rest < a.blocks; ++rest) flash().invalidate(s, pages[rest]);
      return make_status(wire::afa::status::mapping_full);
    }
    return 0;
  }

  /// Gives allocated pages up.
  /// @par Callers the shard's owner, one lane
  GNSTOR_HD void abandon(const admission& a, const std::uint32_t* pages) const {
    for (std::uint32_t k = 0; k < a.blocks; ++k) flash().invalidate(shard(a.shard), pages[k]);
  }

  /// Makes the command's blocks unwritten again.
  /// @par Callers the shard's owner, one lane
  GNSTOR_HD void deallocate(const admission& a) const {
    for (std::uint32_t k = 0; k < a.blocks; ++k) drop(a.shard, a.key(k));
  }

  /// Frees blocks whose readers are done.
  /// @par Callers the shard's owner, one lane
  GNSTOR_HD void reap(std::uint32_t shard_number) const { flash().reap(shard(shard_number)); }

  /// Housekeeping: frees blocks whose readers are done, and drops pages of deleted volumes in up to
  /// `blocks` blocks. Other shards get those blocks only if an idle owner calls this, too.
  /// @par Callers the shard's owner, one lane
  /// @par Result true while there is more to sweep
  GNSTOR_HD bool tend(std::uint32_t shard_number, std::uint32_t blocks) const {
    shard_state& s = shard(shard_number);
    flash().reap(s);
    const std::uint32_t deleted = deletions();
    if (s.swept == deleted) return false;
    if (s.sweep_at == 0) s.sweep_goal = deleted;
    for (std::uint32_t k = 0; k < blocks && s.sweep_at < shape().blocks(); ++k)
      sweep(shard_number, s.sweep_at++);
    if (s.sweep_at == shape().blocks()) {
      s.sweep_at = 0;
      s.swept = s.sweep_goal;
    }
    return s.swept != deleted;
  }

  /// Drops the pages of every volume deleted before this call.
  /// @par Callers the shard's owner, one lane
  GNSTOR_HD void forget_deleted(std::uint32_t shard_number) const {
    // At most one sweep can be under way: the second covers every deletion.
    for (int sweep = 0; sweep < 2; ++sweep) {
      if (!tend(shard_number, shape().blocks())) break;
    }
  }

  /// Ends the pin of a page that `lookup` found.
  /// @par Callers anybody, once a page, after the last load from it
  GNSTOR_HD void unpin(std::uint32_t page) const { flash().unpin(page); }

  /// The bytes of a page, `block_bytes` long.
  GNSTOR_HD void* page(std::uint32_t page) const {
    return data_ + std::uint64_t{page} * block_bytes;
  }

  /// Moves the array to another epoch: from now on commands of other epochs are refused.
  /// @par Callers the admin owner
  GNSTOR_HD void set_epoch(std::uint32_t epoch) const {
    header32(meta_.header().epoch).store(epoch, release);
  }

  /// Adds a volume. Adding the very record the table holds succeeds and changes nothing.
  /// @par Callers the admin owner, one lane; so for all `volume_` functions
  /// @param command_epoch the array epoch the command carries
  /// @par Errors stale_epoch, bad_payload_version, bad_payload, too_many_clients, writer_exists
  /// (two writers), volume_exists, too_many_volumes
  GNSTOR_HD std::uint16_t volume_add(std::uint32_t command_epoch,
                                     const wire::afa::volume_record& r) const {
    if (command_epoch != epoch()) return make_status(wire::afa::status::stale_epoch);
    std::uint32_t& next = meta_.header().next_generation;
    return permissions().add(r, next++, ssd_count());
  }

  /// Changes rights of some clients, all or none.
  /// @par Errors stale_epoch, unknown_volume, bad_payload_version, bad_payload, too_many_clients,
  /// writer_exists
  GNSTOR_HD std::uint16_t volume_chmod(std::uint32_t command_epoch,
                                       const wire::afa::volume_chmod& change) const {
    if (command_epoch != epoch()) return make_status(wire::afa::status::stale_epoch);
    return permissions().chmod(change, command_epoch);
  }

  /// Deletes a volume: its data is unreachable at once, for a later volume of the same VID is
  /// another incarnation. The pages come back as the shards' owners `tend`.
  /// @par Errors stale_epoch, unknown_volume
  GNSTOR_HD std::uint16_t volume_delete(std::uint32_t command_epoch, volume_id vid) const {
    if (command_epoch != epoch()) return make_status(wire::afa::status::stale_epoch);
    const std::uint16_t refused = permissions().remove(vid);
    // Pairs with the acquire in `deletions`: whoever counts this deletion finds the volume gone.
    if (refused == 0) header32(meta_.header().deletions).fetch_add(1, release);
    return refused;
  }

  /// The volumes from `first` on, in order of VID.
  /// @par Errors stale_epoch
  GNSTOR_HD std::uint16_t volume_list(std::uint32_t command_epoch, volume_id first,
                                      wire::afa::volume_list& out) const {
    if (command_epoch != epoch()) return make_status(wire::afa::status::stale_epoch);
    out.version = wire::afa::payload_version;
    out.epoch = command_epoch;
    permissions().list(first, out);
    return 0;
  }

  /// The firmware's parts, for recovery, statistics and tests.
  GNSTOR_HD metadata parts() const { return meta_; }

 private:
  GNSTOR_HD permission_table<Scope> permissions() const {
    return meta_.template volumes_table<Scope>();
  }
  GNSTOR_HD flash_log<Scope> flash() const { return meta_.template flash<Scope>(grace_); }
  GNSTOR_HD shard_state& shard(std::uint32_t s) const { return meta_.shard(s); }
  GNSTOR_HD static atomic_ref<std::uint32_t, Scope> header32(std::uint32_t& w) {
    return atomic_ref<std::uint32_t, Scope>(w);
  }
  GNSTOR_HD std::uint32_t deletions() const {
    return header32(meta_.header().deletions).load(acquire);
  }

  GNSTOR_HD void look_at_rights(const known_grant& known, foresight& out) const {
    out.epoch = header32(meta_.header().epoch).load(relaxed);
    out.version = permission_table<Scope>::version_now(known);
  }

  GNSTOR_HD static std::uint16_t make_status(wire::afa::status s) {
    return wire::afa::make_status(s);
  }
  GNSTOR_HD static admission refuse(std::uint16_t status) {
    admission a;
    a.status = status;
    return a;
  }
  GNSTOR_HD static admission refuse(wire::afa::status s) { return refuse(make_status(s)); }

  GNSTOR_HD std::uint32_t probe(const admission& a, std::uint32_t k) const {
    const std::uint32_t slot = meta_.find(a.shard, a.key(k));
    if (slot == cuckoo_map::none) return no_page;
    const std::uint32_t page = meta_.mapping(a.shard).page(slot);
    flash().pin(page);
    return page;
  }

  /// Maps block `k` of a command to `page`; false when the mapping table refuses.
  GNSTOR_HD bool place(const admission& a, std::uint32_t k, std::uint32_t page,
                       const simt::release_stores<Scope>& shown) const {
    shard_state& s = shard(a.shard);
    cuckoo_map map = meta_.mapping(a.shard);
    const std::uint64_t key = a.key(k);
    const std::uint32_t slot = meta_.find(a.shard, key);
    if (slot == cuckoo_map::none && !map.insert(key, page)) return false;
    meta_.oob()[page].put(oob_entry::of(a.vid, key, s.sequence++), shown);
    // A process killed here has both pages, and recovery takes the one of the higher sequence.
    cuda::std::atomic_signal_fence(release);
    if (slot == cuckoo_map::none) {
      ++s.mapped;
    } else {
      const std::uint32_t old = map.page(slot);
      map.replace(slot, page);
      flash().invalidate(s, old);
    }
    return true;
  }

  GNSTOR_HD void drop(std::uint32_t shard_number, std::uint64_t key) const {
    cuckoo_map map = meta_.mapping(shard_number);
    const std::uint32_t slot = meta_.find(shard_number, key);
    if (slot == cuckoo_map::none) return;
    const std::uint32_t page = map.page(slot);
    map.erase(slot);
    --shard(shard_number).mapped;
    flash().invalidate(shard(shard_number), page);
  }

  /// Drops the pages of deleted volumes in one block, if the shard owns it. A pin of its own keeps
  /// the block meanwhile.
  GNSTOR_HD void sweep(std::uint32_t shard_number, std::uint32_t block) const {
    if (!flash().owned_by(block, shard_number)) return;
    const std::uint32_t first = block * shape().pages_per_block;
    flash().pin(first);
    for (std::uint32_t k = 0; k < shape().pages_per_block; ++k) {
      const oob_entry& e = meta_.oob()[first + k];
      if (e.state == page_state::valid && !permissions().alive(e.vid, e.generation))
        drop(shard_number, e.key());
    }
    flash().unpin(first);
    flash().reap(shard(shard_number));
  }

  metadata meta_;
  char* data_;
  reader_grace<Scope> grace_;
};

static_assert(std::is_trivially_copyable_v<engine_ref<thread_scope_device>>);

}  // namespace gnstor::fw
