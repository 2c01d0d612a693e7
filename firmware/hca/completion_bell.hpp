#pragma once

#include <atomic>
#include <cstdint>

namespace gnstor::fw {

/// Wakes whoever sleeps until a queue pair of this CPU's has completions: a NIC's completion event,
/// which it sends once for each time that it was asked for.
///
/// Who wants to sleep arms it, looks at the queue once more, and sleeps if there was nothing. The
/// order of all that is one with the engine's: either that look finds a completion, or the engine
/// finds the bell armed.
class completion_bell {
 public:
  /// @param ring called with `whose` by the queue's owner; it must not wait
  completion_bell(void (*ring)(void*), void* whose) : ring_(ring), whose_(whose) {}

  /// @par Callers who wants to sleep
  void arm() {
    armed_.exchange(1, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  /// @par Callers the queue's owner, after it has written completions
  void after_completions() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (armed_.load(std::memory_order_relaxed) == 0) return;
    if (armed_.exchange(0, std::memory_order_acq_rel) != 0) ring_(whose_);
  }

 private:
  std::atomic<std::uint32_t> armed_{0};
  void (*ring_)(void*);
  void* whose_;
};

}  // namespace gnstor::fw
