#pragma once

#include <gnstor/array/page_fault.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/group.hpp>

#include <cuda/std/bit>

namespace gnstor::inline v0 {

/// Page faults on their way from the lanes that have them to the warps that serve them (a
/// reference, passed by value).
///
/// It is several rings, each for its share of the pages, so that many warps push and take at once.
/// A page is in its ring once at most, because only who made it busy pushes it. So a ring of as
/// many slots as pages never overflows; a smaller one is refused for new faults when it is half
/// full, and the other half has room for a fault of every thread that was let in at once.
class fault_ring {
 public:
  /// Of one ring: more than twice the threads that a GPU holds at once.
  static constexpr std::uint32_t most_slots = 1u << 20;
  static constexpr std::uint32_t most_rings = 8;

  GNSTOR_HD static constexpr std::uint32_t rings_for(std::uint32_t pages) {
    return pages < 64 * most_rings ? 1 : most_rings;
  }
  GNSTOR_HD static constexpr std::uint32_t slots_for(std::uint32_t pages) {
    const std::uint32_t share = (pages + rings_for(pages) - 1) / rings_for(pages);
    return share < most_slots ? cuda::std::bit_ceil(share) : most_slots;
  }
  GNSTOR_HD static constexpr std::uint64_t bytes(std::uint32_t pages) {
    return sizeof(head) + rings_for(pages) * (sizeof(ring) + 8ull * slots_for(pages));
  }

  /// @param memory zero-filled, `bytes(pages)` long, aligned to 128 bytes
  GNSTOR_HD fault_ring(void* memory, std::uint32_t pages)
      : head_(static_cast<head*>(memory)), rings_(rings_for(pages)), slots_(slots_for(pages)) {
    whole_ = std::uint64_t{slots_} * rings_ >= pages;
  }

  /// True while warps serve the ring: set before kernels run, and gone when the last one has left.
  GNSTOR_HD bool is_served() const { return word32(head_->servers).load(relaxed) != 0; }
  /// Where the count of warps that serve the ring lies, for who starts them: its 4 bytes.
  static constexpr std::size_t servers_offset() { return offsetof(head, servers); }
  /// One warp serves no more.
  /// @par Callers one lane of that warp
  GNSTOR_HD void leave() const { word32(head_->servers).fetch_sub(1, relaxed); }

  /// True if a fault of `page` may be pushed now.
  GNSTOR_HD bool has_room(page_index page) const {
    return whole_ || waiting_in(ring_of(page)) < slots_ / 2;
  }
  /// Hands a fault over.
  /// @par Callers one lane, which has made the page busy, and asked for room before
  /// @par Order releases the page's word to whoever takes the fault
  GNSTOR_HD void push(const page_fault& fault) const {
    const std::uint32_t r = ring_of(fault.page);
    const std::uint64_t turn = word(at(r).pushed).fetch_add(1, relaxed);
    // Paired with the acquire in `take`.
    slot(r, turn).store(
        lap_of(turn) << 34 | static_cast<std::uint64_t>(fault.use) << 32 | fault.page.value,
        release);
  }
  /// Takes some of the faults that wait in one ring, the more the more there are: a warp takes its
  /// time for each, and all that serve a ring take from one word, one after another. One for each
  /// lane of `g` at most.
  /// @param number of the ring to ask first, of any size: another one for each call, so that none
  /// is left out
  /// @par Callers every lane of `g`, a whole warp, converged
  /// @par Result the lanes of rank below it have a fault; 0 also if another warp was quicker
  /// @par Order acquires what `push` released
  GNSTOR_HD std::uint32_t take(const simt::group& g, std::uint32_t number,
                               page_fault& fault) const {
    const std::uint32_t rank = g.thread_rank();
    std::uint64_t first = 0;
    std::uint32_t waiting = 0;
    if (rank < rings_) {
      ring& mine = at((number + rank) % rings_);
      first = word(mine.taken).load(relaxed);
      waiting = static_cast<std::uint32_t>(word(mine.pushed).load(relaxed) - first);
    }
    const std::uint32_t found = g.ballot(waiting != 0);
    if (found == 0) return 0;
    const int asked = cuda::std::countr_zero(found);
    const std::uint32_t r = (number + static_cast<std::uint32_t>(asked)) % rings_;
    first = g.shfl(first, asked);
    const std::uint32_t share = 1 + g.shfl(waiting, asked) / (rings_ == 1 ? 16 : 4);
    const std::uint64_t turn = first + rank;
    const std::uint64_t seen = slot(r, turn).load(acquire);
    const std::uint32_t there = g.leading(rank < share && seen >> 34 == lap_of(turn));
    if (there == 0) return 0;
    bool mine = false;
    // A slot is filled again only after it was read here: `has_room` looks at `taken`.
    if (g.leads()) mine = word(at(r).taken).compare_exchange(first, first + there, relaxed);
    if (!g.broadcast(static_cast<std::uint32_t>(mine))) return 0;
    fault = {page_index(static_cast<std::uint32_t>(seen)), static_cast<page_use>(seen >> 32 & 3)};
    return there;
  }
  /// True if every fault that was pushed has been taken.
  GNSTOR_HD bool is_empty() const {
    std::uint64_t waiting = 0;
    for (std::uint32_t r = 0; r < rings_; ++r) waiting += waiting_in(r);
    return waiting == 0;
  }

 private:
  struct head {
    alignas(128) std::uint32_t servers;
  };
  struct ring {
    alignas(128) std::uint64_t pushed;
    alignas(128) std::uint64_t taken;
  };
  static_assert(std::is_trivially_copyable_v<ring>);
  using word = atomic_ref<std::uint64_t, thread_scope_device>;
  using word32 = atomic_ref<std::uint32_t, thread_scope_device>;

  GNSTOR_HD std::uint32_t ring_of(page_index page) const { return page.value % rings_; }
  GNSTOR_HD ring& at(std::uint32_t r) const { return reinterpret_cast<ring*>(head_ + 1)[r]; }
  GNSTOR_HD std::uint64_t waiting_in(std::uint32_t r) const {
    return word(at(r).pushed).load(relaxed) - word(at(r).taken).load(relaxed);
  }
  /// How often the ring has been gone round by then, from 1 on: no slot's zeroes are a fault. 30
  /// bits of it.
  GNSTOR_HD std::uint64_t lap_of(std::uint64_t turn) const {
    return (turn / slots_ + 1) & ((1u << 30) - 1);
  }
  GNSTOR_HD word slot(std::uint32_t r, std::uint64_t turn) const {
    auto* const slots = reinterpret_cast<std::uint64_t*>(&at(rings_));
    return word(slots[std::uint64_t{r} * slots_ + (turn & (slots_ - 1))]);
  }

  head* head_;
  std::uint32_t rings_;
  std::uint32_t slots_;  ///< of each ring
  bool whole_;           ///< there is a slot for every page
};

}  // namespace gnstor::inline v0
