#pragma once

#include <gnstor/array/page_fault.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/group.hpp>

#include <cuda/std/bit>

namespace gnstor::inline v0 {

/// Page faults on their way from the lanes that have them to the warps that serve them (a
/// reference, passed by value).
///
/// A page is in the ring once at most, because only who made it busy pushes it. So a ring of as
/// many slots as pages never overflows; a smaller one is refused for new faults when it is half
/// full, and the other half has room for a fault of every thread that was let in at once.
class fault_ring {
 public:
  /// More than twice the threads that a GPU holds at once.
  static constexpr std::uint32_t most_slots = 1u << 20;

  GNSTOR_HD static constexpr std::uint32_t slots_for(std::uint32_t pages) {
    return pages < most_slots ? cuda::std::bit_ceil(pages) : most_slots;
  }
  GNSTOR_HD static constexpr std::uint64_t bytes(std::uint32_t pages) {
    return sizeof(state) + 8ull * slots_for(pages);
  }

  /// @param memory zero-filled, `bytes(pages)` long, aligned to 128 bytes
  GNSTOR_HD fault_ring(void* memory, std::uint32_t pages)
      : state_(static_cast<state*>(memory)), slots_(slots_for(pages)), whole_(slots_ >= pages) {}

  /// True while warps serve the ring: set before kernels run, and gone when the last one has left.
  GNSTOR_HD bool is_served() const { return word32(state_->servers).load(relaxed) != 0; }
  /// Where the count of warps that serve the ring lies, for who starts them: its 4 bytes.
  static constexpr std::size_t servers_offset() { return offsetof(state, servers); }
  /// One warp serves no more.
  /// @par Callers one lane of that warp
  GNSTOR_HD void leave() const { word32(state_->servers).fetch_sub(1, relaxed); }

  /// True if a fault may be pushed now.
  GNSTOR_HD bool has_room() const {
    return whole_ || pushed() - word(state_->taken).load(relaxed) < slots_ / 2;
  }
  /// Hands a fault over.
  /// @par Callers one lane, which has made the page busy, and asked for room before
  /// @par Order releases the page's word to whoever takes the fault
  GNSTOR_HD void push(const page_fault& fault) const {
    const std::uint64_t turn = word(state_->pushed).fetch_add(1, relaxed);
    // Paired with the acquire in `take`.
    slot(turn).store(
        lap_of(turn) << 34 | static_cast<std::uint64_t>(fault.use) << 32 | fault.page.value,
        release);
  }
  /// Takes some of the faults that wait, the more the more there are: a warp takes its time for
  /// each, and all that serve take from one word, one after another. One for each lane of `g` at
  /// most.
  /// @par Callers every lane of `g`, converged
  /// @par Result the lanes of rank below it have a fault; 0 also if another warp was quicker
  /// @par Order acquires what `push` released
  GNSTOR_HD std::uint32_t take(const simt::group& g, page_fault& fault) const {
    std::uint64_t first = 0;
    std::uint32_t share = 0;
    if (g.leads()) {
      first = word(state_->taken).load(relaxed);
      const auto waiting = static_cast<std::uint32_t>(pushed() - first);
      share = waiting == 0 ? 0 : 1 + waiting / 16;
    }
    share = g.broadcast(share);
    if (share == 0) return 0;
    first = g.broadcast(first);
    const std::uint64_t turn = first + g.thread_rank();
    const std::uint64_t seen = slot(turn).load(acquire);
    const std::uint32_t there = g.leading(g.thread_rank() < share && seen >> 34 == lap_of(turn));
    if (there == 0) return 0;
    bool mine = false;
    // A slot is filled again only after it was read here: `has_room` looks at `taken`.
    if (g.leads()) mine = word(state_->taken).compare_exchange(first, first + there, relaxed);
    if (!g.broadcast(static_cast<std::uint32_t>(mine))) return 0;
    fault = {page_index(static_cast<std::uint32_t>(seen)), static_cast<page_use>(seen >> 32 & 3)};
    return there;
  }
  /// True if every fault that was pushed has been taken.
  GNSTOR_HD bool is_empty() const { return pushed() == word(state_->taken).load(relaxed); }

 private:
  struct state {
    alignas(128) std::uint64_t pushed;
    alignas(128) std::uint64_t taken;
    alignas(128) std::uint32_t servers;
  };
  static_assert(std::is_trivially_copyable_v<state>);
  using word = atomic_ref<std::uint64_t, thread_scope_device>;
  using word32 = atomic_ref<std::uint32_t, thread_scope_device>;

  GNSTOR_HD std::uint64_t pushed() const { return word(state_->pushed).load(relaxed); }
  /// How often the ring has been gone round by then, from 1 on: no slot's zeroes are a fault. 30
  /// bits of it.
  GNSTOR_HD std::uint64_t lap_of(std::uint64_t turn) const {
    return (turn / slots_ + 1) & ((1u << 30) - 1);
  }
  GNSTOR_HD word slot(std::uint64_t turn) const {
    return word(reinterpret_cast<std::uint64_t*>(state_ + 1)[turn & (slots_ - 1)]);
  }

  state* state_;
  std::uint32_t slots_;
  bool whole_;  ///< there is a slot for every page
};

}  // namespace gnstor::inline v0
