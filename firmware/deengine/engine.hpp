#pragma once

#include <deengine/admin_calls.hpp>
#include <deengine/admission.hpp>
#include <deengine/block_place.hpp>
#include <deengine/foresight.hpp>
#include <deengine/request.hpp>
#include <deengine/shard_store.hpp>
#include <gnstor/simt/warp.hpp>

namespace gnstor::fw {

/// The firmware of one SSD: access control, mapping and flash (a reference: trivially copyable,
/// passed by value).
///
/// A command is checked by anybody; its data calls are made by the owner of its shard (one CPU
/// thread or GPU warp at a time, one lane where no group is given); pages are copied by anybody.
/// The life of a read is `check`, `lookup`, copy, `unpin` of each page, or `check`, `peek`, copy
/// where a reader looks for itself; of a write `check`, `allocate`, copy, `commit` or `abandon`.
/// Statuses are NVMe status fields, 0 for success. GNStor, 4.3.
/// @tparam Scope the widest distance between two callers
template <thread_scope Scope>
class engine_ref : public admin_calls<engine_ref<Scope>> {
 public:
  /// The block was never written: zeroes; or, in another epoch than its check's, has moved away; or
  /// nobody knows: `is_doubtful`.
  static constexpr std::uint32_t no_page = cuckoo_map::none;

  /// @param meta a mounted metadata block of geometry `g`
  /// @param data `g.pages` pages of `block_bytes`
  /// @param quiescence of those who `peek`
  GNSTOR_HD engine_ref(void* meta, const geometry& g, void* data,
                       const reader_quiescence<Scope>& quiescence = {})
      : meta_(meta, g), data_(static_cast<char*>(data)), quiescence_(quiescence) {}

  GNSTOR_HD const geometry& shape() const { return meta_.shape(); }
  GNSTOR_HD std::uint32_t ssd_count() const { return volumes().ssd_count(); }
  GNSTOR_HD std::uint32_t epoch() const { return volumes().epoch(); }
  GNSTOR_HD std::uint32_t shard_of(volume_id vid, std::uint32_t stripe) const {
    return fw::shard_of(vid, stripe, shape().shards);
  }

  /// Decides whether a command may run, and where.
  /// @par Callers anybody
  /// @par Errors the first that holds, of: invalid field (no blocks), wrong_client, stale_epoch,
  /// rebuilding (a read, while this SSD is filled), unknown_volume, command interrupted (the volume
  /// kept changing: try again), not_permitted, beyond_capacity, crosses_stripe, wrong_ssd
  GNSTOR_HD admission check(const request& r) const {
    known_grant nothing{};
    return check(r, nothing);
  }
  /// The same for somebody who keeps a grant of this SSD from command to command.
  /// @param known what is known, and then what was found
  GNSTOR_HD admission check(const request& r, known_grant& known) const {
    // Before the volume's version: who counts a change finds what it made. Only `commit` asks.
    const std::uint32_t changed = r.write ? serving().changes() : 0;
    foresight now;
    look_at_rights(known, r.write, now);
    // No order: who would be refused by an old one is asked for once more.
    const std::uint32_t place = serving().place(relaxed);
    admission a = check_rights(r, known, now);
    a.changes = changed;
    if (!a.ok()) return a;
    const bool gathers_only = r.write && !r.fill && known.gathers_only();
    if (r.write && !r.fill && !gathers_only && r.epoch < known.held_until)
      return refuse(wire::afa::status::stale_epoch);
    if (is_at(place, a.vid, known, a.first))
      return gathers_only ? refuse(wire::afa::status::not_permitted) : a;
    const bool gathers = permissions().spread(r.vid) == wire::afa::volume_spread::gathering;
    if (belongs(a, known) || (gathers && belongs(a, known, 1))) return a;
    return refuse(wire::afa::status::wrong_ssd);
  }

  using foresight = fw::foresight;
  /// Asks what a check needs, and looks for a read's first block where it is if what is `known`
  /// still holds.
  /// @par Callers as `peek`, before `check_rights`
  GNSTOR_HD void foresee(const request& r, const known_grant& known, foresight& out) const {
    look_at_rights(known, false, out);
    if (known.slot == nullptr || known.vid != r.vid.value) return;
    admission a;
    a.generation = known.generation;
    a.first = r.first;
    out.shard = shard_of(r.vid, known.stripe.quotient(r.first.value));
    meta_.mapping(out.shard).peek(a.key(0), out.seen);
  }
  /// All of `check` but whether the blocks belong on this SSD: who finds a page of theirs here
  /// knows that they do: only what belongs here is written, and only another epoch moves it. A
  /// read's.
  GNSTOR_HD admission check_rights(const request& r, known_grant& known,
                                   const foresight& early) const {
    using wire::afa::status;
    if (r.blocks == 0)
      return refuse(wire::nvme::make_status(wire::nvme::generic_status::invalid_field));
    if (!(r.client == r.bound_client)) return refuse(status::wrong_client);
    admission a;
    volume_grant grant;
    const auto found = permissions().find(r.vid, r.client, grant, known, early.version);
    if (r.epoch != early.epoch)
      return refuse(r.epoch == epoch() ? status::rebuilding : status::stale_epoch);
    switch (found) {
      case permission_table<Scope>::answer::absent: return refuse(status::unknown_volume);
      case permission_table<Scope>::answer::changing:
        return refuse(wire::nvme::make_status(wire::nvme::generic_status::command_interrupted));
      case permission_table<Scope>::answer::found: break;
    }
    const std::uint32_t right = r.fill    ? wire::afa::right_fill
                                : r.write ? wire::afa::right_write
                                          : wire::afa::right_read;
    if ((grant.rights & right) == 0) return refuse(status::not_permitted);
    if (std::uint64_t{r.first.value} + r.blocks > grant.capacity_blocks)
      return refuse(status::beyond_capacity);
    const std::uint32_t stripe = known.stripe.quotient(r.first.value);
    const std::uint32_t into = r.first.value - stripe * known.stripe.value();
    if (r.blocks > known.stripe.value() - into) return refuse(status::crosses_stripe);
    a.vid = r.vid;
    a.shard = static_cast<std::uint16_t>(shard_of(r.vid, stripe));
    a.generation = grant.generation;
    a.first = r.first;
    a.blocks = static_cast<std::uint16_t>(r.blocks);
    if (r.write)
      a.dirties = dirty_log<Scope>::place(permissions().slot_of(known),
                                          wire::afa::dirty_region_of(stripe, known.region_shift));
    return a;
  }
  /// The same where nothing was foreseen: of a block that need not belong here.
  GNSTOR_HD admission check_block(const request& r, known_grant& known) const {
    foresight now;
    look_at_rights(known, r.write, now);
    return check_rights(r, known, now);
  }
  /// The same for a command about the volume as a whole, of which `r.first` says nothing. It goes
  /// to each shard in turn, the first of which is 0.
  GNSTOR_HD admission check_volume(request r, known_grant& known) const {
    r.first = vba(0);
    r.blocks = 1;
    admission a = check_block(r, known);
    a.shard = 0;
    return a;
  }
  /// True if the blocks of a command belong on this SSD. Not what a write asks first.
  /// @param known what `check_rights` found @param fewer by a placement over so many SSDs fewer
  GNSTOR_HD bool belongs(const admission& a, const known_grant& known, unsigned fewer = 0) const {
    return is_at_rarely(serving().place(), a.vid, known, a.first, fewer);
  }

  /// Asks memory for what finding a command's pages touches first: the buckets of the mapping. A
  /// CPU calls it for all commands of a batch, then `prefetch_pages` for all, then goes through
  /// them: so they wait for memory together, as the lanes of a warp do.
  /// @par Callers as `peek`
  GNSTOR_HD void prefetch_mapping(const admission& a) const {
    for (std::uint32_t k = 0; k < a.blocks; ++k) meta_.mapping(a.shard).prefetch(a.key(k));
  }
  /// Asks memory for what comes next: the OOB entries of the pages, and the states of their erase
  /// blocks, which a pin or an overwrite changes.
  /// @par Callers as `peek`
  GNSTOR_HD void prefetch_pages(const admission& a) const {
    for (std::uint32_t k = 0; k < a.blocks; ++k) {
      cuckoo_map::sighting seen;
      meta_.mapping(a.shard).peek(a.key(k), seen);
      seen.candidates([&](std::uint32_t page) {
        simt::prefetch(meta_.oob() + page);
        simt::prefetch(meta_.blocks() + page / shape().pages_per_block);
      });
    }
  }
  /// The same for a read of one block that will `peek`.
  /// @param out what was seen of the mapping: for `peek`
  GNSTOR_HD void prefetch_page(const admission& a, foresight& out) const {
    meta_.mapping(a.shard).peek(a.key(0), out.seen);
    out.shard = a.shard;
    out.seen.candidates([&](std::uint32_t page) { simt::prefetch(meta_.oob() + page); });
  }

  /// Finds the pages of a command's blocks and pins each; `no_page` for a block never written.
  /// @par Callers the shard's owner, one lane
  /// @param pages `a.blocks` entries
  GNSTOR_HD void lookup(const admission& a, std::uint32_t* pages) const {
    for (std::uint32_t k = 0; k < a.blocks; ++k) pages[k] = probe(a, k);
  }

  /// True if block `k` of a command has a page. @par Callers the owner of its shard, one lane
  GNSTOR_HD bool has(const admission& a, std::uint32_t k) const {
    return meta_.find(a.shard, a.key(k)) != cuckoo_map::none;
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
  /// @par Callers a reader of the quiescence that this engine was given; the page stays what it is
  /// until the reader's next `quiet`, or `unpin` after a `pin` before that
  /// @par Order acquires the page's bytes
  GNSTOR_HD std::uint32_t peek(const admission& a) const {
    foresight early;
    return peek(a, early);
  }
  /// The same with what `foresee` has seen since the reader's last `quiet`.
  GNSTOR_HD std::uint32_t peek(const admission& a, foresight& early) const {
    // Had the volume been another by then, no candidate holds this key, and the owner is asked.
    if (early.shard != a.shard) meta_.mapping(a.shard).peek(a.key(0), early.seen);
    return meta_.confirmed(early.seen, a.key(0));
  }
  /// Keeps a page found by `peek` beyond the quiescence period.
  GNSTOR_HD void pin(std::uint32_t page) const { flash().pin(page); }

  /// Takes pages for a write. They belong to the command until `commit` or `abandon`.
  /// @param few set if few blocks are free: `collect` is due
  /// @par Callers the shard's owner, one lane
  /// @par Errors capacity exceeded: no block is free now; nothing was taken. As volumes hold less
  /// than there is, another try succeeds once readers have passed by and shards have collected
  GNSTOR_HD std::uint16_t allocate(const admission& a, std::uint32_t* pages, bool& few) const {
    return store(a.shard).allocate(a, pages, few);
  }

  /// Says what was written into an allocated page.
  /// @param crc as `copy_page` gives it
  /// @par Callers who wrote it, before the owner's `commit`
  GNSTOR_HD void seal(std::uint32_t page, std::uint32_t crc) const {
    meta_.oob()[page].set_crc(crc);
  }
  /// What a page's data must be.
  /// @par Callers who has found the page and may read it
  GNSTOR_HD std::uint32_t seal_of(std::uint32_t page) const { return meta_.oob()[page].data_crc(); }

  /// Makes written pages the contents of the command's blocks, and ends the pages they replace.
  /// @param again set if nothing was done, as pages of deleted volumes are still being dropped that
  /// the command may need: call it once more, or `abandon` the pages
  /// @par Callers the shard's owner, one lane, once the data is in the pages, and each is sealed
  /// @par Errors capacity exceeded (new blocks beyond what volumes can hold), mapping_full, and, if
  /// rights or epoch have changed since, unknown_volume, not_permitted or stale_epoch: the pages
  /// are abandoned and the old contents stay. Only if nine keys of one shard alias may the blocks
  /// before the refused one have their new contents.
  GNSTOR_HD std::uint16_t commit(const admission& a, const write_claim& by,
                                 const std::uint32_t* pages, bool& again) const {
    return store(a.shard).commit(a, by, pages, again);
  }

  /// True if `commit_simply` will do: nothing has changed since the check, and there is room.
  GNSTOR_HD bool commits_simply(const admission& a) const {
    return store(a.shard).commits_simply(a);
  }
  /// As `commit`, right after `commits_simply`.
  GNSTOR_HD std::uint16_t commit_simply(const admission& a, const std::uint32_t* pages) const {
    return store(a.shard).commit_simply(a, pages);
  }
  /// The same for a Fill: blocks that have sound contents keep them, and where the SSD is in sync
  /// those without any stay so.
  /// @param unreadable what is taken reads as damaged
  /// @par Errors as `commit`; the blocks before the refused one are committed: fill again
  GNSTOR_HD std::uint16_t commit_fill(const admission& a, const write_claim& by,
                                      const std::uint32_t* pages, bool unreadable) const {
    return store(a.shard).commit_fill(a, by, pages, unreadable);
  }

  /// Gives allocated pages up. @par Callers the shard's owner, one lane
  GNSTOR_HD void abandon(const admission& a, const std::uint32_t* pages) const {
    store(a.shard).abandon(a, pages);
  }

  /// Where a volume is dirty, once every shard's owner has been asked in turn: so it is known of
  /// all writes that they have committed before. False: the next one's number is in the command
  /// now.
  /// @par Callers the owner of the shard in the command, one lane
  /// @param a of `check_volume`
  /// @param takes what was marked since the last time. All are asked twice: what is marked by the
  /// end of the first round is committed by that of the second
  GNSTOR_HD bool dirty_regions(admission& a, wire::afa::dirty_regions& out, bool takes) const {
    if (++a.shard < shape().shards) return false;
    const bool second = a.first.value != 0;  // what a volume's command says of blocks is the round
    a.shard = 0;
    a.first = vba(1);
    if (!second)
      meta_.template dirty<Scope>().answer(a.vid, dirty_log<Scope>::slot_of(a.dirties), takes, out);
    return second || !takes;
  }

  /// Makes the command's blocks unwritten again. @par Callers the shard's owner, one lane
  /// @param forgets it is a Forget, which an SSD in sync refuses: not_permitted
  /// @par Errors unknown_volume, stale_epoch, not_permitted, as `commit`
  GNSTOR_HD std::uint16_t deallocate(const admission& a, const write_claim& by,
                                     bool forgets = false) const {
    return store(a.shard).deallocate(a, by, forgets);
  }

  /// Frees blocks whose readers are done. @par Callers the shard's owner, one lane
  GNSTOR_HD void reap(std::uint32_t shard) const { store(shard).reap(); }

  /// Housekeeping: frees blocks whose readers are done, and drops pages of deleted volumes in up to
  /// `blocks` blocks. Other shards get those blocks only if an idle owner calls this, too.
  /// @par Callers the shard's owner, one lane
  /// @par Result true while there is more to sweep
  GNSTOR_HD bool tend(std::uint32_t shard, std::uint32_t blocks) const {
    return store(shard).tend(blocks);
  }

  /// True if blocks or pages are few, so that `tend` should not wait. @par Callers anybody
  GNSTOR_HD bool scarce() const { return store(0).scarce(); }

  /// Garbage collection: where few blocks are free, looks at `pages` pages, and at least at one a
  /// lane, and moves the live ones together, so that the blocks they leave come back. Other shards
  /// get those only if an idle owner calls this, too.
  /// @par Callers every lane of `g`, converged, of the shard's owner
  /// @par Result true while there is more to move, or blocks wait for readers
  template <simt::warp_group G>
  GNSTOR_HD bool collect(const G& g, std::uint32_t shard, std::uint32_t pages) const {
    return store(shard).collect(g, pages);
  }

  /// Ends the pin of a page that `lookup` found.
  /// @par Callers anybody, once a page, after the last load from it
  GNSTOR_HD void unpin(std::uint32_t page) const { flash().unpin(page); }

  /// The bytes of a page, `block_bytes` long.
  GNSTOR_HD void* page(std::uint32_t page) const {
    return data_ + std::uint64_t{page} * block_bytes;
  }

  /// True if a block of a checked command that is not found may have been written: to read it is a
  /// media error, and to deallocate it is to write zeroes. @par Callers anybody
  GNSTOR_HD bool is_doubtful(const admission& a) const {
    return meta_.header().doubts.covers(a.shard, a.generation);
  }

  GNSTOR_HD ssd_volumes<Scope> volumes() const { return ssd_volumes<Scope>(meta_); }

  /// Pages that nobody has taken. @par Callers anybody
  GNSTOR_HD std::uint64_t free_pages() const {
    return std::uint64_t{flash().pool().left()} * shape().pages_per_block;
  }
  /// Pages that garbage collection has moved since the SSD was formatted. @par Callers anybody
  GNSTOR_HD std::uint64_t moved_pages() const {
    return atomic_ref<std::uint64_t, Scope>(meta_.header().moved).load(relaxed);
  }

  GNSTOR_HD metadata parts() const { return meta_; }  ///< for recovery and tests
 private:
  GNSTOR_HD permission_table<Scope> permissions() const {
    return meta_.template volumes_table<Scope>();
  }
  GNSTOR_HD array_epoch<Scope> serving() const { return array_epoch<Scope>(meta_.header()); }
  GNSTOR_HD flash_log<Scope> flash() const { return meta_.template flash<Scope>(quiescence_); }
  GNSTOR_HD shard_store<Scope> store(std::uint32_t shard) const {
    return {meta_, data_, quiescence_, shard};
  }
  GNSTOR_HD void look_at_rights(const known_grant& known, bool write, foresight& out) const {
    out.epoch = serving().expected(write);
    out.version = permission_table<Scope>::version_now(known);
  }

  GNSTOR_HD static admission refuse(std::uint16_t status) {
    admission a;
    a.status = status;
    return a;
  }
  GNSTOR_HD static admission refuse(wire::afa::status s) {
    return refuse(wire::afa::make_status(s));
  }

  GNSTOR_HD std::uint32_t probe(const admission& a, std::uint32_t k) const {
    const std::uint32_t slot = meta_.find(a.shard, a.key(k));
    if (slot == cuckoo_map::none) return no_page;
    const std::uint32_t page = meta_.mapping(a.shard).page(slot);
    flash().pin(page);
    return page;
  }

  metadata meta_;
  char* data_;
  reader_quiescence<Scope> quiescence_;
};

static_assert(std::is_trivially_copyable_v<engine_ref<thread_scope_device>>);
static_assert(sizeof(engine_ref<thread_scope_device>) <= 128, "an argument of kernels: `layout`");

}  // namespace gnstor::fw
