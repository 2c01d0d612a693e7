#pragma once

#include <gnstor/host/memory_block.hpp>
#include <gnstor/qp/nvme_pcie_doorbells.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace gnstor::host {

/// Doorbells in memory, for kernels that do not reach the registers themselves: a thread of this
/// CPU passes on what they ring. Commands, completions and data do not pass it.
///
/// A doorbell in memory is a box: the thread takes out what was put in, so that the same value may
/// follow itself in a queue's next life.
class doorbell_relay {
 public:
  /// @param queues I/O queues at most
  explicit doorbell_relay(std::uint32_t queues);
  doorbell_relay(const doorbell_relay&) = delete;
  doorbell_relay& operator=(const doorbell_relay&) = delete;
  ~doorbell_relay();

  /// Doorbells in memory for a queue whose own are registers, the tail's at `own`, which outlive
  /// this. Throws `error`
  /// if there are more queues than were announced.
  nvme_pcie_doorbells add(std::uint32_t* own, std::uint32_t stride_bytes);
  /// Values passed on so far. Any thread.
  std::uint64_t passed() const { return passed_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t empty = ~0u;  ///< no queue has so many entries
  static constexpr std::uint32_t box_bytes = 128;

  std::uint32_t& box(std::uint32_t k) const;
  void run();
  bool pass(std::uint32_t k);

  std::uint32_t most_;
  memory_block boxes_;
  std::vector<std::uint32_t*> own_;       ///< the register of each box
  std::atomic<std::uint32_t> count_ = 0;  ///< boxes
  std::atomic<std::uint64_t> passed_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace gnstor::host
