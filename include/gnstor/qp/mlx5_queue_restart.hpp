#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/qp/mlx5_queue_memory.hpp>
#include <gnstor/qp/queue_bar.hpp>
#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::inline v0 {

/// How the memory of an mlx5 queue pair passes from one life to the next, while lanes may still
/// look at it.
///
/// The NIC begins anew: send entry 0, receive 0, completion 0 of an unwritten ring. The lanes'
/// 64-bit indices go on at the next multiple of what the NIC counts, so that their low bits are 0
/// too.
/// @tparam Scope as of the queue pair
template <thread_scope Scope>
class mlx5_queue_restart {
 public:
  GNSTOR_HD mlx5_queue_restart(unsigned char* memory, std::uint32_t depth, std::uint32_t blocks)
      : memory_(memory), depth_(depth), blocks_(blocks) {}

  /// Stops handing out send indices. `reserved` moves by at least `depth`, and `retired` stays: no
  /// lane has credit.
  /// @par Callers one lane at a time
  /// @par Bound 65536 attempts; each that fails is a reservation by another lane
  GNSTOR_HD queue_bar bar() const {
    queue_bar b;
    b.end = word(state().reserved).load(relaxed);
    for (bounded tries{lap}; tries;) {
      b.next = (b.end + depth_ + lap - 1) / lap * lap;
      if (word(state().reserved).compare_exchange(b.end, b.next, acq_rel)) return b;
    }
    return queue_bar{};
  }

  /// Hands out `next` itself. False if somebody was faster.
  GNSTOR_HD bool open(std::uint64_t next) const {
    return word(state().reserved).compare_exchange(next, next + 1, relaxed);
  }

  /// Prepares rings and indices for a NIC that begins anew. False, with nothing done, while a lane
  /// rings: it may hold an index of the former life.
  /// @par Callers one lane; nobody else publishes, the NIC does nothing, and every completion was
  /// taken and dealt with
  /// @par Order releases the empty rings to whoever acquires `consumed`
  GNSTOR_HD bool restart(std::uint64_t next) const {
    const device_word<std::uint32_t> held(state().send_lock);
    if (held.exchange(1, acq_rel) != 0) return false;
    empty_completions();
    const std::uint64_t received = word(state().received).load(relaxed) / lap * lap + lap;
    word(state().received).exchange(received, acq_rel);
    record(state().doorbell_record.receive, mlx5_queue_layout::receive_entries(depth_));
    record(state().doorbell_record.send, 0);
    atomic_ref<std::uint64_t, Scope>(state().doorbell).store(0, relaxed);
    word(state().published).exchange(next, acq_rel);
    const std::uint64_t laps = 2ull * mlx5_queue_layout::completion_entries(depth_);
    const std::uint64_t taken = word(state().consumed).load(relaxed);
    // Paired with the acquire load of `poll`.
    word(state().consumed).exchange(taken / laps * laps + laps, acq_rel);
    // Paired with the exchange of the next ringer: it announces an index of this life.
    held.exchange(0, acq_rel);
    return true;
  }

 private:
  static constexpr std::uint64_t lap = 65536;  ///< of a NIC's ring counters

  GNSTOR_HD static device_word<std::uint64_t> word(std::uint64_t& w) {
    return device_word<std::uint64_t>(w);
  }
  GNSTOR_HD mlx5_queue_state& state() const {
    return *reinterpret_cast<mlx5_queue_state*>(memory_);
  }
  GNSTOR_HD static void record(std::uint32_t& half, std::uint32_t index) {
    atomic_ref<std::uint32_t, Scope>(half).store(
        wire::mlx5::record_value(static_cast<std::uint16_t>(index)), release);
  }
  GNSTOR_HD void empty_completions() const {
    auto* entries = reinterpret_cast<wire::mlx5::completion_entry*>(
        memory_ + mlx5_queue_layout::of(depth_, blocks_).completions);
    for (std::uint32_t k = 0; k < mlx5_queue_layout::completion_entries(depth_); ++k) {
      atomic_ref<std::uint32_t, Scope>(entries[k].tail).store(wire::mlx5::unwritten_tail, relaxed);
    }
  }

  unsigned char* memory_;
  std::uint32_t depth_;
  std::uint32_t blocks_;
};

}  // namespace gnstor::inline v0
