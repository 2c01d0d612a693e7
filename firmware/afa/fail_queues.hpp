#pragma once

#include <afa/break_queue.hpp>

namespace gnstor::fw {

/// Breaks every queue pair that is served, as a NIC does that has failed. Host only.
/// @par Callers one thread, after every engine of the node has returned
inline void fail_queues(const node& n) {
  for (std::uint32_t k = 0; k < n.shape.max_queues; ++k) {
    const std::uint32_t life = device_word<std::uint32_t>(n.queues[k].active).load(acquire);
    if (life == static_cast<std::uint32_t>(queue_life::serving) ||
        life == static_cast<std::uint32_t>(queue_life::cut))
      break_queue(n, k, wire::mlx5::syndrome::remote_aborted);
  }
}

}  // namespace gnstor::fw
