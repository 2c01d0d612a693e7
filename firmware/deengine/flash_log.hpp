#pragma once

#include <deengine/block_pool.hpp>
#include <deengine/block_state.hpp>
#include <deengine/geometry.hpp>
#include <deengine/oob_entry.hpp>
#include <deengine/reader_grace.hpp>
#include <deengine/shard_state.hpp>

namespace gnstor::fw {

/// The flash of one SSD as logs, one a shard: pages are handed out in order, and whole blocks come
/// back (a view).
///
/// A block returns to the pool when it is closed, holds no live page, no look can find one of its
/// pages any more and no reader pins it. No page ever moves, so a device whose blocks all hold a
/// live page is full even if most pages are stale.
/// @par Callers the owner of `shard`, one lane; `pin` and `unpin` say otherwise
template <thread_scope Scope>
class flash_log {
 public:
  static constexpr std::uint32_t none = shard_state::none;  ///< no block

  /// @param grace of those who look up beside the owners
  GNSTOR_HD flash_log(block_state* states, oob_entry* oob, block_pool<Scope> pool,
                      const geometry& g, const reader_grace<Scope>& grace)
      : states_(states),
        oob_(oob),
        pool_(pool),
        grace_(grace),
        blocks_(g.blocks()),
        pages_per_block_(g.pages_per_block),
        shards_(g.shards) {}

  GNSTOR_HD std::uint32_t blocks() const { return blocks_; }
  GNSTOR_HD std::uint32_t pages_per_block() const { return pages_per_block_; }
  GNSTOR_HD const block_pool<Scope>& pool() const { return pool_; }
  GNSTOR_HD block_state& state(std::uint32_t block) const { return states_[block]; }
  GNSTOR_HD oob_entry& oob(std::uint32_t page) const { return oob_[page]; }
  /// True if the calling shard owns `block`. Only the shard itself ever writes its own number, so a
  /// relaxed load will do.
  GNSTOR_HD bool owned_by(std::uint32_t block, std::uint32_t shard) const {
    return atomic_ref<std::uint32_t, Scope>(states_[block].owner).load(relaxed) == shard + 1;
  }

  /// Allocates `count` pages of the shard's log.
  /// @par Errors false: the pool has too few blocks, and nothing was taken
  GNSTOR_HD bool reserve(std::uint32_t shard, shard_state& s, std::uint32_t count,
                         std::uint32_t* pages) const {
    const std::uint32_t left = s.open == none ? 0 : pages_per_block_ - s.cursor;
    const std::uint32_t wanted =
        count > left ? (count - left + pages_per_block_ - 1) / pages_per_block_ : 0;
    std::uint32_t taken = none;
    for (std::uint32_t k = 0; k < wanted; ++k) {
      const std::uint32_t block = pool_.take(shard, shards_);
      if (block == none) {
        give_all(taken);
        return false;
      }
      atomic_ref<std::uint32_t, Scope>(states_[block].owner).store(shard + 1, relaxed);
      states_[block].next = taken;
      taken = block;
    }
    for (std::uint32_t k = 0; k < count; ++k) {
      if (s.open == none) {
        s.open = taken;
        s.cursor = 0;
        taken = states_[taken].next;
      }
      ++states_[s.open].live;
      pages[k] = s.open * pages_per_block_ + s.cursor++;
      if (s.cursor == pages_per_block_) s.open = none;
    }
    return true;
  }

  /// Ends the life of a page: overwritten, deallocated, abandoned, or of a deleted volume.
  GNSTOR_HD void invalidate(shard_state& s, std::uint32_t page) const {
    oob_[page].become(page_state::stale);
    const std::uint32_t block = page / pages_per_block_;
    GNSTOR_VERIFY(states_[block].live != 0);
    if (--states_[block].live != 0 || block == s.open) return;
    states_[block].next = s.condemned;
    s.condemned = block;
    grace_.hold();
    reap(s);
  }

  /// Erases the blocks that no reader can find or pins any more, and gives them to the pool.
  ///
  /// A pin is raised at a look that finds a live page, within the reader's grace period: once that
  /// is over no new pin can come, so a zero count stays zero.
  /// @par Order acquires what the readers released in `unpin`: their loads precede the block's next
  /// data
  GNSTOR_HD void reap(shard_state& s) const {
    // Where nobody looks beside the owner a period is over at once: all lists are passed in one go.
    for (int pass = 0; pass < 2; ++pass) {
      if (s.retiring != none && grace_.over(s.grace)) move_list(s.retiring, s.retired);
      if (s.retiring != none || s.condemned == none) break;
      move_list(s.condemned, s.retiring);
      s.grace = grace_.begin();
    }
    free_unpinned(s);
  }

  /// Marks every page of `block` erased.
  GNSTOR_HD void erase(std::uint32_t block) const {
    for (std::uint32_t k = 0; k < pages_per_block_; ++k) oob_[block * pages_per_block_ + k].clear();
  }

  /// Keeps the block of a live page from being reused until `unpin`.
  /// @par Callers the owner of the page's shard, any of its lanes; or who found the page in this
  /// grace period
  GNSTOR_HD void pin(std::uint32_t page) const {
    atomic_ref<std::uint32_t, Scope>(states_[page / pages_per_block_].pins).fetch_add(1, relaxed);
  }

  /// Ends one `pin`. @par Callers anybody, once a pin
  /// @par Order releases the caller's loads from the page; pairs with the acquire in `reap`
  GNSTOR_HD void unpin(std::uint32_t page) const {
    atomic_ref<std::uint32_t, Scope> pins(states_[page / pages_per_block_].pins);
    GNSTOR_VERIFY(pins.fetch_sub(1, release) != 0);
  }

 private:
  /// Moves all blocks of one list to the front of another.
  GNSTOR_HD void move_list(std::uint32_t& from, std::uint32_t& to) const {
    for (bounded n{blocks_}; from != none && n;) {
      const std::uint32_t block = from;
      from = states_[block].next;
      states_[block].next = to;
      to = block;
    }
  }
  GNSTOR_HD void free_unpinned(shard_state& s) const {
    std::uint32_t* link = &s.retired;
    for (bounded n{blocks_}; *link != none && n;) {
      const std::uint32_t block = *link;
      const bool pinned = atomic_ref<std::uint32_t, Scope>(states_[block].pins).load(acquire) != 0;
      if (pinned) {
        link = &states_[block].next;
      } else {
        *link = states_[block].next;
        erase(block);
        release_block(block);
        grace_.let_go();
      }
    }
  }
  GNSTOR_HD void release_block(std::uint32_t block) const {
    atomic_ref<std::uint32_t, Scope>(states_[block].owner).store(0, relaxed);
    pool_.give(block);
  }
  GNSTOR_HD void give_all(std::uint32_t list) const {
    for (bounded n{blocks_}; list != none && n;) {
      const std::uint32_t block = list;
      list = states_[block].next;
      release_block(block);
    }
  }

  block_state* states_;
  oob_entry* oob_;
  block_pool<Scope> pool_;
  reader_grace<Scope> grace_;
  std::uint32_t blocks_;
  std::uint32_t pages_per_block_;
  std::uint32_t shards_;
};

}  // namespace gnstor::fw
