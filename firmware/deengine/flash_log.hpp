#pragma once

#include <deengine/block_pool.hpp>
#include <deengine/block_ranking.hpp>
#include <deengine/geometry.hpp>
#include <deengine/live_record.hpp>
#include <deengine/metadata_header.hpp>
#include <deengine/oob_entry.hpp>
#include <deengine/reader_quiescence.hpp>
#include <deengine/shard_state.hpp>

namespace gnstor::fw {

/// The flash of one SSD as logs, one a shard: pages are handed out in order, and whole blocks come
/// back (a view).
///
/// A block returns to the pool when it is closed, holds no live page, no look can find one of its
/// pages any more, no power cut brings one back and no reader pins it. A closed block may become
/// the shard's victim: its live pages are moved to the shard's target block, one after another.
/// Where a write to one of its pages is not committed yet, it is left alone until then.
/// @par Callers the owner of `shard`, one lane; `pin` and `unpin` say otherwise
template <thread_scope Scope>
class flash_log {
 public:
  static constexpr std::uint32_t none = shard_state::none;  ///< no block, no page

  /// Where its parts lie: see `layout`.
  struct arrays {
    shard_state* shards;
    block_state* states;
    oob_entry* oob;
    std::uint32_t* rankings;
    std::uint32_t* pool;
  };

  /// @param quiescence of those who look up beside the owners
  GNSTOR_HD flash_log(const arrays& at, const geometry& g,
                      const reader_quiescence<Scope>& quiescence)
      : at_(at), shape_(g), quiescence_(quiescence) {}

  GNSTOR_HD std::uint32_t blocks() const { return shape_.blocks(); }
  GNSTOR_HD std::uint32_t pages_per_block() const { return shape_.pages_per_block; }
  GNSTOR_HD block_pool<Scope> pool() const { return {at_.pool, shape_.blocks()}; }
  GNSTOR_HD block_state& state(std::uint32_t block) const { return at_.states[block]; }
  GNSTOR_HD oob_entry& oob(std::uint32_t page) const { return at_.oob[page]; }
  GNSTOR_HD block_ranking ranking(std::uint32_t shard) const {
    const std::uint32_t heads = block_ranking::heads_for(shape_.pages_per_block);
    return {at_.states, at_.rankings + std::uint64_t{shard} * heads, shape_.pages_per_block};
  }
  GNSTOR_HD live_record record(std::uint32_t block) const {
    const std::uint32_t words = live_record::words_for(shape_.pages_per_block);
    const auto oob_end = reinterpret_cast<std::uintptr_t>(at_.oob + shape_.pages);
    auto* records = reinterpret_cast<std::uint64_t*>(next_array(oob_end));  // `layout::records`
    return {through()(records + std::uint64_t{block} * words), shape_.pages_per_block, block,
            through()};
  }
  GNSTOR_HD const write_through& through() const { return header().through; }
  /// True if the calling shard owns `block`. Only the shard itself ever writes its own number, so a
  /// relaxed load will do.
  GNSTOR_HD bool owned_by(std::uint32_t block, std::uint32_t shard) const {
    return atomic_ref<std::uint32_t, Scope>(state(block).owner).load(relaxed) == shard + 1;
  }

  /// Allocates `count` pages of the shard's log for a write that is not committed yet.
  /// @param few set if few blocks were free then
  /// @par Errors false: the pool has too few blocks, and nothing was taken
  GNSTOR_HD bool reserve(std::uint32_t shard, std::uint32_t count, std::uint32_t* pages,
                         bool& few) const {
    shard_state& s = at_.shards[shard];
    const std::uint32_t left = s.open == none ? 0 : pages_per_block() - s.cursor;
    const std::uint32_t wanted =
        count > left ? (count - left + pages_per_block() - 1) / pages_per_block() : 0;
    std::uint32_t taken = none;
    for (std::uint32_t k = 0; k < wanted; ++k) {
      std::uint32_t left_free = 0;
      const std::uint32_t block = take(shard, shape_.kept_blocks(), left_free);
      few = few || left_free <= shape_.few_blocks();
      if (block == none) {
        header().flushes.template want<Scope>();  // others may wait for one
        give_all(taken);
        return false;
      }
      state(block).next = taken;
      taken = block;
    }
    for (std::uint32_t k = 0; k < count; ++k) {
      if (s.open == none) {
        s.open = taken;
        s.cursor = 0;
        taken = state(taken).next;
      }
      ++state(s.open).live;
      pages[k] = s.open * pages_per_block() + s.cursor++;
      if (s.cursor == pages_per_block()) close(shard, s.open);
    }
    return true;
  }

  /// Ends the life of a page: overwritten, moved, deallocated, abandoned, or of a deleted volume.
  GNSTOR_HD void invalidate(std::uint32_t shard, std::uint32_t page) const {
    oob(page).become(page_state::stale);
    const std::uint32_t block = block_of(page);
    GNSTOR_VERIFY(state(block).live != 0);
    --state(block).live;
    state(block).unrecorded = 1;
    const shard_state& s = at_.shards[shard];
    if (block != s.open && block != s.target && block != s.victim) ranking(shard).note(block);
  }

  /// Writes down which pages of `block` are live, if it is the shard's and any have ended since.
  GNSTOR_HD void write_down(std::uint32_t shard, std::uint32_t block) const {
    if (!owned_by(block, shard) || state(block).unrecorded == 0) return;
    state(block).image ^= 1;
    record(block).write(state(block).image, at_.shards[shard].sequence,
                        &oob(block * pages_per_block()));
    state(block).unrecorded = 0;
  }

  // ---- garbage collection

  /// True if blocks are so few that garbage has to be collected. @par Callers anybody
  GNSTOR_HD bool short_of_blocks() const { return pool().left() <= shape_.few_blocks(); }

  /// True if the shard has a victim, or blocks that will come back.
  GNSTOR_HD bool collecting(std::uint32_t shard) const {
    const shard_state& s = at_.shards[shard];
    return s.victim != none || waits(s);
  }
  /// Sees to it that the shard has a victim and a target.
  /// @par Result false: there is nothing to gain now, or nothing to move pages to
  GNSTOR_HD bool prepare_move(std::uint32_t shard) const {
    shard_state& s = at_.shards[shard];
    if (s.victim == none) {
      // What was collected last comes back first: else one shard takes what the others need.
      if (waits(s)) return false;
      s.victim_at = 0;
      for (bounded n{choices_at_once}; s.victim == none && n;) {
        const std::uint32_t block = choose(shard);
        if (block == none) return false;
        if (settled(block)) {
          s.victim = block;
        } else {
          park(s, block);
        }
      }
    }
    if (s.victim == none) return false;
    if (s.target != none) return true;
    // The blocks kept for moves are one a shard: who has some coming back waits for these.
    std::uint32_t left = 0;
    s.target = take(shard, waits(s) ? shape_.kept_blocks() : 0, left);
    s.target_at = 0;
    return s.target != none;
  }
  /// `pages` pages of the victim are in the target now, and marked as stale; the next one to look
  /// at is `seen` pages further. @par Callers after `prepare_move`
  GNSTOR_HD void moved(std::uint32_t shard, std::uint32_t pages, std::uint32_t seen) const {
    shard_state& s = at_.shards[shard];
    state(s.victim).live -= pages;
    state(s.victim).unrecorded = 1;
    s.victim_at += seen;
    GNSTOR_VERIFY(s.victim_at < pages_per_block() || state(s.victim).live == 0);
    state(s.target).live += pages;
    s.moved += pages;
    s.target_at += pages;
    if (s.target_at == pages_per_block()) close(shard, s.target);
  }

  /// Puts blocks whose pages have ended where they belong now, and erases those that hold nothing
  /// and that no reader can find or pins any more: they go to the pool.
  ///
  /// A pin is raised at a look that finds a live page, within the reader's quiescence period: once
  /// that is over no new pin can come, so a zero count stays zero.
  /// @par Order acquires what the readers released in `unpin`: their loads precede the block's next
  /// data
  GNSTOR_HD void reap(std::uint32_t shard) const {
    finish_victim(shard);
    const block_ranking ranks = ranking(shard);
    for (bounded n{changes_at_once}; ranks.any_changed() && n;) {
      const std::uint32_t block = ranks.next_changed();
      if (state(block).rank == block_state::unranked) continue;  // chosen since
      ranks.remove(block);
      enlist(shard, block);
    }
    shard_state& s = at_.shards[shard];
    // Where nobody looks beside the owner a period is over at once: all lists are passed in one go.
    for (int pass = 0; pass < 2; ++pass) {
      if (s.retiring != none && may_go(s)) move_list(s.retiring, s.retired);
      if (s.retiring != none || s.condemned == none) break;
      move_list(s.condemned, s.retiring);
      s.quiescence = quiescence_.begin();
      s.flush = header().flushes.template stamp<Scope>();
    }
    free_unpinned(s);
  }

  /// Marks every page of `block` erased.
  GNSTOR_HD void erase(std::uint32_t block) const {
    // `metadata_image` looks beside the owner: it takes a block that it finds so for erased.
    const atomic_ref<std::uint32_t, Scope> erases(state(block).erases);
    const std::uint32_t before = erases.load(relaxed) & ~block_state::erasing;
    erases.store(before | block_state::erasing, relaxed);
    simt::fence<Scope>(release);
    // A process killed here has pages that are no more, or are what they were: none in between.
    for (std::uint32_t k = 0; k < pages_per_block(); ++k)
      oob(block * pages_per_block() + k).unseal(through());
    through().order();
    for (std::uint32_t k = 0; k < pages_per_block(); ++k)
      oob(block * pages_per_block() + k).clear(through());
    // A process killed here has a record of pages that are no more.
    through().order();
    record(block).clear();
    through().order();  // before the pages hold something else
    state(block).unrecorded = 0;
    erases.store(before + 1, release);
  }

  /// Keeps the block of a live page from being reused until `unpin`.
  /// @par Callers the owner of the page's shard, any of its lanes; or who found the page in this
  /// quiescence period
  GNSTOR_HD void pin(std::uint32_t page) const {
    atomic_ref<std::uint32_t, Scope>(state(block_of(page)).pins).fetch_add(1, relaxed);
  }

  /// Ends one `pin`. @par Callers anybody, once a pin
  /// @par Order releases the caller's loads from the page; pairs with the acquire in `reap`
  GNSTOR_HD void unpin(std::uint32_t page) const {
    const atomic_ref<std::uint32_t, Scope> pins(state(block_of(page)).pins);
    GNSTOR_VERIFY(pins.fetch_sub(1, release) != 0);
  }

 private:
  GNSTOR_HD metadata_header& header() const {
    return *(reinterpret_cast<metadata_header*>(at_.shards) - 1);  // as `layout` says
  }
  /// True if no look finds the `retiring` blocks any more, and no power cut brings their pages
  /// back.
  GNSTOR_HD bool may_go(const shard_state& s) const {
    if (!quiescence_.over(s.quiescence)) return false;
    if (header().flushes.template is_kept<Scope>(s.flush)) return true;
    if (pool().left() <= 2 * shape_.few_blocks()) header().flushes.template want<Scope>();
    return false;
  }

  static constexpr std::uint32_t changes_at_once = 64;  ///< blocks that a `reap` ranks anew
  static constexpr std::uint32_t choices_at_once = 2;   ///< blocks that may turn out unsettled
  static constexpr std::uint32_t parked_turn = 5;       ///< of so many choices one was parked
  static constexpr std::uint32_t wear_turn = 16;  ///< of so many victims one is chosen by its wear
  static constexpr std::uint32_t wear_looks = 8;  ///< blocks that are looked at for it
  static constexpr std::uint32_t wear_gap = 32;   ///< erases by which blocks may differ

  GNSTOR_HD std::uint32_t block_of(std::uint32_t page) const {
    return page / shape_.pages_per_block;
  }

  /// True if blocks without live pages wait for readers.
  GNSTOR_HD static bool waits(const shard_state& s) {
    return s.condemned != none || s.retiring != none || s.retired != none;
  }
  /// A victim without live pages is one no more.
  GNSTOR_HD void finish_victim(std::uint32_t shard) const {
    shard_state& s = at_.shards[shard];
    if (s.victim == none || state(s.victim).live != 0) return;
    const std::uint32_t block = s.victim;
    s.victim = none;
    enlist(shard, block);
  }
  /// No more pages are taken from `block`, which is the shard's open one or its target.
  GNSTOR_HD void close(std::uint32_t shard, std::uint32_t& block) const {
    const std::uint32_t closed = block;
    block = none;
    enlist(shard, closed);
  }
  /// Puts a closed block that is in no list where it belongs.
  GNSTOR_HD void enlist(std::uint32_t shard, std::uint32_t block) const {
    if (state(block).live != 0) return ranking(shard).add(block);
    shard_state& s = at_.shards[shard];
    state(block).next = s.condemned;
    s.condemned = block;
  }

  /// The next victim, or `none` where no block has a page to gain: the block with the fewest live
  /// pages, and now and then one whose live pages have kept it from being erased for long.
  GNSTOR_HD std::uint32_t choose(std::uint32_t shard) const {
    shard_state& s = at_.shards[shard];
    const std::uint32_t fewest = ranking(shard).fewest();
    const bool gains = fewest != none && state(fewest).live != pages_per_block();
    ++s.choices;
    if (s.parked != none && (!gains || s.choices % parked_turn == 0)) return unpark(s);
    if (!gains) return none;
    std::uint32_t chosen = fewest;
    if (s.choices % wear_turn == 0) {
      for (std::uint32_t k = 0; k < wear_looks; ++k) {
        const std::uint32_t block = s.wear_at;
        s.wear_at = block + 1 < blocks() ? block + 1 : 0;
        if (!owned_by(block, shard) || state(block).rank == block_state::unranked) continue;
        if (state(block).erases + wear_gap < state(chosen).erases) chosen = block;
      }
    }
    ranking(shard).remove(chosen);
    return chosen;
  }

  /// True if no write to a page of a closed block is under way. A block whose pages were moved
  /// while one waits for such a write would be room that is gone.
  GNSTOR_HD bool settled(std::uint32_t block) const {
    const std::uint32_t first = block * pages_per_block();
    std::uint32_t valid = 0;
    for (std::uint32_t k = 0; k < pages_per_block(); ++k)
      valid += oob(first + k).state == page_state::valid ? 1 : 0;
    return valid == state(block).live;
  }
  /// Sets a block aside that is not `settled`: it is looked at again later.
  GNSTOR_HD void park(shard_state& s, std::uint32_t block) const {
    if (s.parked == none) {
      state(block).next = block;
    } else {
      state(block).next = state(s.parked).next;
      state(s.parked).next = block;
    }
    s.parked = block;
  }
  GNSTOR_HD std::uint32_t unpark(shard_state& s) const {
    const std::uint32_t block = state(s.parked).next;
    state(s.parked).next = state(block).next;
    if (block == s.parked) s.parked = none;
    return block;
  }

  /// A block of the pool for the shard, or `none`.
  /// @param left how many were left
  GNSTOR_HD std::uint32_t take(std::uint32_t shard, std::uint32_t keep, std::uint32_t& left) const {
    shard_state& s = at_.shards[shard];
    const auto got = pool().take(s.take_at, keep);
    left = got.left;
    if (got.block == none) return none;
    atomic_ref<std::uint32_t, Scope>(state(got.block).owner).store(shard + 1, relaxed);
    s.take_at = got.block + 1 < blocks() ? got.block + 1 : 0;
    return got.block;
  }

  /// Moves all blocks of one list to the front of another.
  GNSTOR_HD void move_list(std::uint32_t& from, std::uint32_t& to) const {
    for (bounded n{blocks()}; from != none && n;) {
      const std::uint32_t block = from;
      from = state(block).next;
      state(block).next = to;
      to = block;
    }
  }
  GNSTOR_HD void free_unpinned(shard_state& s) const {
    std::uint32_t* link = &s.retired;
    for (bounded n{blocks()}; *link != none && n;) {
      const std::uint32_t block = *link;
      const bool pinned = atomic_ref<std::uint32_t, Scope>(state(block).pins).load(acquire) != 0;
      if (pinned || state(block).changed != none) {
        link = &state(block).next;
      } else {
        *link = state(block).next;
        erase(block);
        release_block(block);
      }
    }
  }
  GNSTOR_HD void release_block(std::uint32_t block) const {
    atomic_ref<std::uint32_t, Scope>(state(block).owner).store(0, relaxed);
    pool().give(block);
  }
  GNSTOR_HD void give_all(std::uint32_t list) const {
    for (bounded n{blocks()}; list != none && n;) {
      const std::uint32_t block = list;
      list = state(block).next;
      release_block(block);
    }
  }

  arrays at_;
  geometry shape_;
  reader_quiescence<Scope> quiescence_;
};

}  // namespace gnstor::fw
