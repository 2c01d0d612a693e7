#pragma once

#include <afa/node.hpp>
#include <hca/queue_reader.hpp>

namespace gnstor::fw {

/// Breaks every queue pair that is served, as a NIC does that has failed: whoever waits for an
/// answer fails at once, and whoever asks from now on, too. Host only.
/// @par Callers one thread, after every engine of the node has returned
inline void fail_queues(const node& n) {
  for (std::uint32_t k = 0; k < n.shape.max_queues; ++k) {
    queue_context& c = n.queues[k];
    const std::uint32_t life = device_word<std::uint32_t>(c.active).load(acquire);
    if (life != static_cast<std::uint32_t>(queue_life::serving) || c.broken != 0) continue;
    const queue_reader reader(c.at, n.keys());
    reader.complete(c.completion_tail++, wire::mlx5::cqe_opcode::responder_error, c.receive_head++,
                    0, wire::mlx5::syndrome::remote_aborted);
    c.broken = 1;
  }
}

}  // namespace gnstor::fw
