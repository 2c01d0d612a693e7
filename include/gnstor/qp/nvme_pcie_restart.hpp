#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/qp/nvme_pcie_queue_memory.hpp>
#include <gnstor/qp/queue_bar.hpp>
#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::inline v0 {

/// How the memory of an NVMe queue pair passes from one life to the next, while lanes may still
/// look at it.
///
/// The controller creates both queues anew and begins at entry 0 with phase 1. The lanes' 64-bit
/// indices go on at the next multiple of what it counts, so that their low bits are 0 too.
/// @tparam Scope as of the queue pair
template <thread_scope Scope>
class nvme_pcie_restart {
 public:
  GNSTOR_HD nvme_pcie_restart(unsigned char* memory, std::uint32_t depth)
      : memory_(memory), depth_(depth) {}

  /// Stops handing out send indices. `reserved` moves by at least `depth`, and `retired` stays: no
  /// lane has credit.
  /// @par Callers one lane at a time
  /// @par Bound 65536 attempts; each that fails is a reservation by another lane
  GNSTOR_HD queue_bar bar() const {
    queue_bar b;
    b.end = word(state().reserved).load(relaxed);
    for (bounded tries{65536}; tries;) {
      b.next = next_life(b.end + depth_);
      if (word(state().reserved).compare_exchange(b.end, b.next, acq_rel)) return b;
    }
    return queue_bar{};
  }

  /// Hands out `next` itself. False if somebody was faster.
  GNSTOR_HD bool open(std::uint64_t next) const {
    return word(state().reserved).compare_exchange(next, next + 1, relaxed);
  }

  /// Prepares rings and indices for queues that are created anew. False, with nothing done, while a
  /// lane rings: it may hold an index of the former life.
  /// @par Callers one lane; nobody else publishes, both queues are deleted, and every completion
  /// was taken and dealt with
  /// @par Order releases the empty ring to whoever acquires `consumed`
  GNSTOR_HD bool restart(std::uint64_t next) const {
    const device_word<std::uint32_t> held(state().send_lock);
    if (held.exchange(1, acq_rel) != 0) return false;
    auto* entries = reinterpret_cast<std::uint32_t*>(
        memory_ + nvme_pcie_queue_layout::of(depth_, wire::nvme::prp_page_bytes).completions);
    for (std::uint32_t k = 0; k < nvme_pcie_queue_layout::entries(depth_); ++k)
      atomic_ref<std::uint32_t, Scope>(entries[4 * k + 3]).store(0, relaxed);
    const std::uint64_t consumed = next_life(word(state().consumed).load(relaxed) + 1);
    word(state().given).store(consumed, relaxed);
    word(state().announced).store(next, relaxed);
    word(state().published).exchange(next, acq_rel);
    // Paired with the acquire load of `poll`.
    word(state().consumed).exchange(consumed, acq_rel);
    // Paired with the exchange of the next ringer: it announces an index of this life.
    held.exchange(0, acq_rel);
    return true;
  }

 private:
  /// The first index from `least` on that is a multiple of two laps: entry 0, phase 1.
  GNSTOR_HD std::uint64_t next_life(std::uint64_t least) const {
    const std::uint64_t laps = 2ull * nvme_pcie_queue_layout::entries(depth_);
    return (least + laps - 1) / laps * laps;
  }
  GNSTOR_HD static device_word<std::uint64_t> word(std::uint64_t& w) {
    return device_word<std::uint64_t>(w);
  }
  GNSTOR_HD nvme_pcie_queue_state& state() const {
    return *reinterpret_cast<nvme_pcie_queue_state*>(memory_);
  }

  unsigned char* memory_;
  std::uint32_t depth_;
};

}  // namespace gnstor::inline v0
