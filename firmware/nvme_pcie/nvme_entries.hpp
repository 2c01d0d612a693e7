#pragma once

#include <gnstor/simt/copy.hpp>
#include <gnstor/wire/nvme/completion_entry.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

#include <nvme_pcie/nvme_node.hpp>

namespace gnstor::fw {

/// Adds to a statistic of a queue.
GNSTOR_HD inline void add_to(std::uint64_t& word, std::uint64_t n) {
  device_word<std::uint64_t>(word).fetch_add(n, relaxed);
}

/// The entries of a queue pair, in the memory of whoever uses it.
class nvme_entries {
 public:
  GNSTOR_HD nvme_entries(const nvme_node& node, nvme_queue& queue) : node_(&node), queue_(&queue) {}

  /// Reads submission `index`, counted from the queue's beginning. False if it is not mapped.
  GNSTOR_HD bool fetch(std::uint64_t index, wire::nvme::submission_entry& command) const {
    constexpr std::uint32_t bytes = sizeof(wire::nvme::submission_entry);
    const std::uint64_t at = index & (queue_->submission_entries - 1);
    const unsigned char* from = node_->find(queue_->submissions + at * bytes, bytes);
    if (from == nullptr) return false;
    struct parts {
      simt::word16 part[4];
    } raw;
    for (int k = 0; k < 4; ++k) raw.part[k] = simt::load16(from + 16 * k);
    command = cuda::std::bit_cast<wire::nvme::submission_entry>(raw);
    return true;
  }

  /// Writes completion `at`: all but its last dword, then that with the phase of its lap.
  /// @param head submissions fetched so far
  GNSTOR_HD void answer(std::uint64_t at, std::uint64_t head, std::uint16_t id,
                        std::uint16_t status) const {
    constexpr std::uint32_t bytes = sizeof(wire::nvme::completion_entry);
    const std::uint32_t entries = queue_->completion_entries;
    auto* entry = reinterpret_cast<std::uint32_t*>(
        node_->find(queue_->completions + (at & (entries - 1)) * bytes, bytes));
    if (entry == nullptr) return add_to(queue_->faults, 1);
    const bool phase = (at & entries) == 0;
    const auto sq_head = static_cast<std::uint32_t>(head & (queue_->submission_entries - 1));
    const std::uint32_t last = id | std::uint32_t{wire::nvme::with_phase(status, phase)} << 16;
    system_word<std::uint32_t>(entry[0]).store(0, relaxed);
    system_word<std::uint32_t>(entry[1]).store(0, relaxed);
    system_word<std::uint32_t>(entry[2]).store(sq_head | queue_->id << 16, relaxed);
    // Paired with the acquire load of who polls.
    if (queue_->same_device != 0) {
      device_word<std::uint32_t>(entry[3]).store(last, release);
    } else {
      system_word<std::uint32_t>(entry[3]).store(last, release);
    }
  }

 private:
  const nvme_node* node_;
  nvme_queue* queue_;
};

}  // namespace gnstor::fw
