#pragma once

#include <deengine/block_state.hpp>
#include <gnstor/core/assert.hpp>
#include <gnstor/core/bounded.hpp>

namespace gnstor::fw {

/// The blocks of one shard from which garbage collection may choose, a list for each number of live
/// pages (a view): whatever becomes stale, the block with the fewest live pages is found at once.
///
/// Whoever ends a page only notes that its block has changed, so that an overwrite touches no other
/// block; `next_changed` gives the noted ones back to be ranked anew.
/// @par Callers the shard's owner, one lane
class block_ranking {
 public:
  static constexpr std::uint32_t none = block_state::none;  ///< no block

  /// @param heads `heads_for(pages_per_block)` words
  GNSTOR_HD block_ranking(block_state* states, std::uint32_t* heads, std::uint32_t pages_per_block)
      : states_(states), heads_(heads), pages_per_block_(pages_per_block) {}

  /// A list for each number of live pages, the lower bound of those that are not empty, and the
  /// changed blocks.
  GNSTOR_HD static constexpr std::uint32_t heads_for(std::uint32_t pages_per_block) {
    return pages_per_block + 3;
  }

  GNSTOR_HD void clear() const {
    for (std::uint32_t k = 0; k <= pages_per_block_; ++k) heads_[k] = none;
    least() = pages_per_block_;
    changed() = none;
  }

  /// Enters a block by its live pages.
  GNSTOR_HD void add(std::uint32_t block) const {
    block_state& b = states_[block];
    b.rank = static_cast<std::uint16_t>(b.live);
    b.next = heads_[b.rank];
    b.previous = none;
    if (b.next != none) states_[b.next].previous = block;
    heads_[b.rank] = block;
    if (b.rank < least()) least() = b.rank;
  }
  /// Takes a block out.
  GNSTOR_HD void remove(std::uint32_t block) const {
    block_state& b = states_[block];
    GNSTOR_VERIFY(b.previous != none || heads_[b.rank] == block);
    if (b.next != none) states_[b.next].previous = b.previous;
    if (b.previous != none) {
      states_[b.previous].next = b.next;
    } else {
      heads_[b.rank] = b.next;
    }
    b.rank = block_state::unranked;
  }
  /// The block with the fewest live pages, or `none`.
  GNSTOR_HD std::uint32_t fewest() const {
    std::uint32_t& at = least();
    for (bounded n{pages_per_block_}; at < pages_per_block_ && heads_[at] == none && n;) ++at;
    return heads_[at];
  }

  /// Notes that a block has fewer live pages than its rank says.
  GNSTOR_HD void note(std::uint32_t block) const {
    block_state& b = states_[block];
    if (b.changed != none) return;
    const std::uint32_t before = changed();
    b.changed = before == none ? block : before;  // the last one names itself
    changed() = block;
  }
  /// A noted block, noted no more, or `none`.
  GNSTOR_HD std::uint32_t next_changed() const {
    const std::uint32_t block = changed();
    if (block == none) return none;
    block_state& b = states_[block];
    changed() = b.changed == block ? none : b.changed;
    b.changed = none;
    return block;
  }
  GNSTOR_HD bool any_changed() const { return changed() != none; }

 private:
  GNSTOR_HD std::uint32_t& least() const { return heads_[pages_per_block_ + 1]; }
  GNSTOR_HD std::uint32_t& changed() const { return heads_[pages_per_block_ + 2]; }

  block_state* states_;
  std::uint32_t* heads_;
  std::uint32_t pages_per_block_;
};

static_assert(std::is_trivially_copyable_v<block_ranking>);

}  // namespace gnstor::fw
