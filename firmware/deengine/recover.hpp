#pragma once

#include <deengine/checkpoint.hpp>
#include <deengine/format.hpp>
#include <deengine/mount_doubts.hpp>

namespace gnstor::detail {

using fw::metadata;
using fw::mount_status;
using fw::oob_entry;
using fw::page_state;

/// Rebuilds the VID index from the slots: a volume exists if and only if its record was published.
/// False: a record is not what was published.
inline bool recover_volumes(const metadata& meta) {
  const auto table = meta.volumes_table<thread_scope_system>();
  std::memset(meta.volume_index(), 0, fw::vid_count * sizeof(std::uint32_t));
  for (std::uint32_t k = 0; k < meta.shape().max_volumes; ++k) {
    if (!table.make_sound(k)) return false;
    const wire::afa::volume_record r = table.read(k);
    if (r.vid == 0) continue;
    if (wire::afa::check_record(r, meta.header().ssd_count) != 0) return false;
    // A volume deleted and added again, whose metadata a process was killed in the middle of
    // writing down: the later one counts.
    const std::uint32_t other = meta.volume_index()[r.vid];
    if (other != 0) {
      const bool newer = table.generation(k) > table.generation(other - 1);
      table.clear(newer ? other - 1 : k);
      if (!newer) continue;
    }
    meta.volume_index()[r.vid] = k + 1;
    std::uint32_t& next = meta.header().next_generation;
    if (table.generation(k) >= next) next = table.generation(k) + 1;
  }
  return true;
}

/// Finds the membership that counts: the newer one that is what was written. A process killed
/// before it said that a newer one counts had written it. False: what the present epoch's was is
/// lost.
inline bool recover_membership(const metadata& meta) {
  fw::metadata_header& header = meta.header();
  const fw::membership_record* both = header.membership;
  std::uint32_t at = header.is_sealed(1) && both[1].epoch > both[0].epoch ? 1 : 0;
  if (!header.is_sealed(at)) at = 1 - at;
  if (!header.is_sealed(at)) return false;
  const fw::membership_record& other = both[1 - at];
  const bool never = other.epoch == 0 && other.absent == 0 && other.filling == 0;
  // The other was being written when the process was killed, or is the one that counts.
  if (!header.is_sealed(1 - at) && !never && header.epoch != both[at].epoch) return false;
  header.epoch = both[at].epoch;
  header.place = header.expected_place();
  const std::uint64_t behind = both[at].absent | both[at].filling;
  const bool lacks = header.self < 64 && (behind >> header.self & 1) != 0;
  header.read_epoch = lacks ? 0 : header.epoch;
  return true;
}

/// The live record of the erase block that is being looked at.
class block_record {
 public:
  block_record(const metadata& meta, mount_doubts& doubts)
      : flash_(meta.flash<thread_scope_system>()), doubts_(doubts) {}

  const fw::live_record::image& of(std::uint32_t block) {
    if (block != block_) {
      block_ = block;
      now_ = flash_.record(block).read();
      if (now_.damaged) doubts_.add_record(block);
    }
    return now_;
  }

 private:
  fw::flash_log<thread_scope_system> flash_;
  mount_doubts& doubts_;
  std::uint32_t block_ = ~0u;
  fw::live_record::image now_;
};

/// True if a page was committed. It is valid until something says otherwise, or known to have
/// ended: stale. A page of which half an entry was written is stale, too.
inline bool was_committed(const metadata& meta, block_record& records, mount_doubts& doubts,
                          std::uint32_t page) {
  oob_entry& e = meta.oob()[page];
  const std::uint32_t size = meta.shape().pages_per_block;
  const auto& record = records.of(page / size);
  if (e.is_damaged()) doubts.add_page(page);
  if (!e.is_sealed()) {
    const bool untouched = e.sequence == 0 && e.generation == 0 && e.block.value == 0;
    if (!untouched || e.state != page_state::erased) e.state = page_state::stale;
    return false;
  }
  std::uint32_t& next = meta.header().next_generation;
  if (e.generation >= next) next = e.generation + 1;
  e.state = record.counts(page % size, e.sequence) ? page_state::valid : page_state::stale;
  return true;
}

/// Enters a page into its shard's mapping unless a newer page with its key is there; of two pages
/// the older is stale.
inline bool recover_page(const metadata& meta, std::uint32_t shard, std::uint32_t page) {
  oob_entry* oob = meta.oob();
  const std::uint64_t key = oob[page].key();
  fw::cuckoo_map map = meta.mapping(shard);
  fw::shard_state& s = meta.shard(shard);
  const std::uint32_t slot = meta.find(shard, key);
  if (slot == fw::cuckoo_map::none) {
    ++s.mapped;
    return map.insert(key, page);
  }
  const std::uint32_t other = map.page(slot);
  const bool newer = oob[page].sequence > oob[other].sequence;
  if (newer) map.replace(slot, page);
  oob[newer ? other : page].state = page_state::stale;
  return true;
}

/// Pages whose entries in the mapping are asked for at once: else each waits for memory alone.
inline constexpr std::uint32_t pages_at_once = 32;

/// Enters the valid pages from `first` on into the mapping. False: a table is full, which no
/// firmware left.
inline bool recover_pages(const metadata& meta, page_owners& shard_of_page, block_record& records,
                          mount_doubts& doubts, std::uint32_t first) {
  std::int64_t shard[pages_at_once];
  const std::uint32_t left = meta.shape().pages - first;
  const std::uint32_t count = left < pages_at_once ? left : pages_at_once;
  for (std::uint32_t k = 0; k < count; ++k) {
    const oob_entry& e = meta.oob()[first + k];
    const bool committed = was_committed(meta, records, doubts, first + k);
    shard[k] = committed ? shard_of_page(e) : -1;
    if (shard[k] < 0) continue;
    fw::shard_state& s = meta.shard(static_cast<std::uint32_t>(shard[k]));
    if (e.sequence >= s.sequence) s.sequence = e.sequence + 1;
    const auto& record = records.of((first + k) / meta.shape().pages_per_block);
    if (record.sequence() > s.sequence) s.sequence = record.sequence();
    if (e.state == page_state::valid)
      meta.mapping(static_cast<std::uint32_t>(shard[k])).prefetch(e.key());
  }
  for (std::uint32_t k = 0; k < count; ++k) {
    oob_entry& e = meta.oob()[first + k];
    if (e.state != page_state::valid) continue;
    if (shard[k] < 0) {
      e.state = page_state::stale;
    } else if (!recover_page(meta, static_cast<std::uint32_t>(shard[k]), first + k)) {
      return false;
    }
  }
  return true;
}

/// Of metadata that was copied while the firmware went on: a page that has ended by its record may
/// have one before it of which no record says so yet, and the deallocation that did be missing.
inline void end_former_pages(const metadata& meta, page_owners& shard_of_page) {
  for (std::uint32_t page = 0; page < meta.shape().pages; ++page) {
    const oob_entry& e = meta.oob()[page];
    if (!e.is_sealed() || e.state == page_state::valid) continue;
    const std::int64_t shard = shard_of_page(e);
    if (shard < 0) continue;
    const auto s = static_cast<std::uint32_t>(shard);
    const std::uint32_t slot = meta.find(s, e.key());
    if (slot == fw::cuckoo_map::none) continue;
    fw::cuckoo_map map = meta.mapping(s);
    oob_entry& former = meta.oob()[map.page(slot)];
    if (former.sequence > e.sequence) continue;
    former.state = page_state::stale;
    map.erase(slot);
    --meta.shard(s).mapped;
  }
}

/// Repeats the deallocations of a shard: pages of before have ended.
inline void recover_trims(const metadata& meta, mount_doubts& doubts, std::uint32_t shard) {
  fw::cuckoo_map map = meta.mapping(shard);
  fw::shard_state& s = meta.shard(shard);
  for (std::uint32_t index = 0; index < meta.shape().trim_cells(); ++index) {
    const fw::trim_entry& e = meta.trims(shard)[index];
    if (e.is_damaged(index)) doubts.add_trim(shard, e);
    if (!e.is_sound(index)) continue;
    if (e.sequence >= s.sequence) s.sequence = e.sequence + 1;
    for (std::uint32_t k = 0; k < e.blocks && k < wire::afa::max_stripe_blocks; ++k) {
      const std::uint32_t slot = meta.find(shard, e.key(k));
      if (slot == fw::cuckoo_map::none) continue;
      oob_entry& page = meta.oob()[map.page(slot)];
      if (page.sequence > e.sequence) continue;
      page.state = page_state::stale;
      map.erase(slot);
      --s.mapped;
    }
  }
}

/// Writes down which pages are live, so that nothing is left of what was done before.
inline void write_all_down(const metadata& meta) {
  const auto flash = meta.flash<thread_scope_system>();
  for (std::uint32_t block = 0; block < meta.shape().blocks(); ++block) {
    const std::uint32_t owner = flash.state(block).owner;
    if (owner == 0) {
      flash.record(block).clear();
    } else {
      flash.state(block).unrecorded = 1;
      flash.write_down(owner - 1, block);
    }
  }
  cuda::std::atomic_signal_fence(release);
  for (std::uint32_t shard = 0; shard < meta.shape().shards; ++shard)
    std::memset(static_cast<void*>(meta.trims(shard)), 0,
                meta.shape().trim_cells() * sizeof(fw::trim_entry));
}

/// The two blocks with the most pages left take moved pages and writes again. Moves come first: who
/// was killed while the last free block was the target would have nothing to move pages to.
inline void reopen(fw::shard_state& s, std::uint32_t block, std::uint32_t used,
                   std::uint32_t pages) {
  if (used == pages) return;
  if (s.target == fw::shard_state::none || used < s.target_at) {
    std::swap(s.target, block);
    std::swap(s.target_at, used);
  }
  if (block == fw::shard_state::none) return;
  if (s.open == fw::shard_state::none || used < s.cursor) {
    s.open = block;
    s.cursor = used;
  }
}

/// Counts a block's live pages, and gives it to the pool or to its shard as closed.
inline bool recover_block(const metadata& meta, page_owners& shard_of_page, std::uint32_t block) {
  const std::uint32_t pages = meta.shape().pages_per_block;
  const auto flash = meta.flash<thread_scope_system>();
  fw::block_state& state = flash.state(block);
  const std::uint32_t erases = state.erases & ~fw::block_state::erasing;
  state = fw::block_state{};
  state.erases = erases;
  state.image = static_cast<std::uint8_t>(flash.record(block).read().number);
  std::uint32_t used = 0;
  for (std::uint32_t k = 0; k < pages; ++k) {
    const oob_entry& e = flash.oob(block * pages + k);
    if (e.state != page_state::erased) used = k + 1;
    if (e.state != page_state::valid) continue;
    const auto owner = static_cast<std::uint32_t>(shard_of_page(e)) + 1;
    if (state.live++ != 0 && owner != state.owner) return false;
    state.owner = owner;
  }
  if (state.live == 0) {
    if (used != 0) flash.erase(block);
    flash.pool().give(block);
    return true;
  }
  reopen(meta.shard(state.owner - 1), block, used, pages);
  return true;
}

/// Where blocks are many, a shard's only half-filled one takes writes. Enters the closed blocks
/// into their shards' rankings, and counts what volumes can still hold.
inline void recover_counts(const metadata& meta) {
  const auto flash = meta.flash<thread_scope_system>();
  for (std::uint32_t k = 0; k < meta.shape().shards && !flash.short_of_blocks(); ++k) {
    fw::shard_state& s = meta.shard(k);
    if (s.open != fw::shard_state::none) continue;
    std::swap(s.open, s.target);
    std::swap(s.cursor, s.target_at);
  }
  for (std::uint32_t block = 0; block < meta.shape().blocks(); ++block) {
    const std::uint32_t owner = flash.state(block).owner;
    if (owner == 0) continue;
    const fw::shard_state& s = meta.shard(owner - 1);
    if (block != s.open && block != s.target) flash.ranking(owner - 1).add(block);
  }
  const std::uint32_t usable = meta.shape().usable_pages();
  std::uint32_t mapped = 0;
  for (std::uint32_t s = 0; s < meta.shape().shards; ++s) mapped += meta.shard(s).mapped;
  meta.header().credit = mapped < usable ? usable - mapped : 0;
}

}  // namespace gnstor::detail

namespace gnstor::fw {

/// Has volumes count as dirty all over.
/// @param any also those that may come before this metadata is written again; else those there are
/// @par Callers the host, before any shard runs
inline void distrust_dirty_logs(void* base, const geometry& g, bool any = false) {
  const metadata meta(base, g);
  const auto volumes = meta.volumes_table<thread_scope_system>();
  for (std::uint32_t slot = 0; slot < g.max_volumes; ++slot) {
    if (any || volumes.read(slot).vid != 0) meta.dirty<thread_scope_system>().distrust(slot);
  }
}

/// Mounts the metadata of an SSD that was stopped, killed or lost power: mapping, live counts, free
/// blocks and sequences are built anew from what flash holds, that is the OOB areas, the live
/// records and trim journals beside them, and the permission table. Nothing else is believed, not
/// even that a page is marked as stale. GNStor, 4.3. An SSD that was stopped in order is as it was
/// left: `checkpoint`.
///
/// Committed pages are all there; pages that were allocated and not committed are free again. A
/// process killed between two stores loses nothing committed, as each change is one store that
/// counts; a GPU's stores reach flash in order by `write_through`.
///
/// Each thing in flash has a seal. One that is set and does not match was damaged: where it cannot
/// answered what that said, the SSD answers media error, and never zeroes or an older version:
/// `detail::mount_doubts`. Damaged volumes, memberships or identities keep it from being mounted.
/// @par Callers the host, before any shard runs
/// @param who `epoch` is not used: the array's epoch is in the block. Where it may grow, the array
/// may have more SSDs than before: `join` says so once all of them are mounted
inline mount_status recover(void* base, std::uint64_t bytes, const geometry& g,
                            const ssd_identity& who) {
  if (g.fault() != nullptr) return mount_status::bad_geometry;
  const metadata meta(base, g);
  if (bytes < sizeof(metadata_header)) return mount_status::too_small;
  metadata_header& header = meta.header();
  if (header.magic != metadata_header::right_magic) return mount_status::not_formatted;
  if (header.version != metadata_header::right_version) return mount_status::other_version;
  if (header.identity != header.expected_identity() || !header.array.is_sound())
    return mount_status::damaged;
  if (!(header.shape == g)) return mount_status::other_geometry;
  const bool grows = who.may_grow && header.ssd_count < who.ssd_count;
  if (header.self != who.self || (header.ssd_count != who.ssd_count && !grows))
    return mount_status::other_ssd;
  if (bytes < meta.bytes()) return mount_status::too_small;
  header.through = {};  // whatever somebody has written there
  const checkpoint_state stopped = look_at_checkpoint(base, g);
  header.flushes = {};
  const bool rebooted = header.boot != who.boot;
  for (std::uint32_t k = 0; k < g.max_volumes; ++k) meta.dirty<thread_scope_system>().say_twice(k);
  if (stopped == checkpoint_state::whole) {
    if (rebooted && !who.flushes) distrust_dirty_logs(base, g);  // others may be older
    header.boot = who.boot;
    header.place = header.expected_place();
    end_checkpoint(base, g);
    return mount_status::ok;
  }

  if (!detail::recover_membership(meta) || !detail::recover_volumes(meta))
    return mount_status::damaged;
  const auto table = meta.volumes_table<thread_scope_system>();
  std::memset(meta.pool_words(), 0,
              block_pool<thread_scope_system>::word_count(g.blocks()) * sizeof(std::uint32_t));
  meta.clear_shards();
  for (std::uint32_t s = 0; s < g.shards; ++s) {
    meta.mapping(s).clear();
    meta.shard(s).swept = header.deletions;
  }
  detail::mount_doubts doubts(meta);
  detail::page_owners owners(meta, table);
  detail::block_record records(meta, doubts);
  for (std::uint32_t first = 0; first < g.pages; first += detail::pages_at_once) {
    if (!detail::recover_pages(meta, owners, records, doubts, first)) return mount_status::damaged;
  }
  if (who.was_copied) detail::end_former_pages(meta, owners);
  for (std::uint32_t s = 0; s < g.shards; ++s) detail::recover_trims(meta, doubts, s);
  if (stopped == checkpoint_state::damaged && !doubts.found()) doubts.distrust_all();
  doubts.settle(owners);
  // A mark may be lost, and what it was for not: with a page cache, by damage to what was sealed,
  // or as this SSD was killed before it had marked what it was to be given.
  const membership_record m = header.membership[header.membership_at(header.epoch)];
  const bool filled = ((m.absent | m.filling) >> header.self & 1) != 0;
  if (rebooted || filled || stopped != checkpoint_state::none) distrust_dirty_logs(base, g);
  cuda::std::atomic_signal_fence(release);
  // Flash is changed from here on, and holds all that the checkpoint says.
  cuda::std::atomic_signal_fence(release);
  end_checkpoint(base, g);
  for (std::uint32_t block = 0; block < g.blocks(); ++block) {
    if (!detail::recover_block(meta, owners, block)) return mount_status::damaged;
  }
  detail::recover_counts(meta);
  detail::write_all_down(meta);
  doubts.end();
  // Last: who is killed before begins with the same copy again, if there is one.
  cuda::std::atomic_signal_fence(release);
  header.boot = who.boot;
  return mount_status::ok;
}

/// Makes a mounted SSD one of an array of `ssd_count` SSDs; volumes stay where they are.
/// @par Callers the host, before any shard runs
inline void join(void* base, const geometry& g, std::uint32_t ssd_count) {
  metadata(base, g).header().join(ssd_count);
}

}  // namespace gnstor::fw
