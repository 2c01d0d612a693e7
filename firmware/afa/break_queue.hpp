#pragma once

#include <afa/node.hpp>
#include <hca/queue_reader.hpp>

namespace gnstor::fw {

/// Breaks a queue pair, as a NIC does that has lost its peer: whoever waits for an answer fails at
/// once, and whoever asks from now on, too.
/// @par Callers one lane, while no engine of the queue holds its progress
GNSTOR_HD_INLINE void break_queue(const node& n, std::uint32_t queue, wire::mlx5::syndrome why) {
  queue_context& c = n.queues[queue];
  if (c.broken != 0) return;
  const queue_reader reader(c.at, n.keys());
  reader.complete(c.completion_tail++, wire::mlx5::cqe_opcode::responder_error, c.receive_head++, 0,
                  why);
  c.broken = 1;
}

/// Does it because the host says that the queue pair's link is gone. The queue pair serves on as a
/// broken one, that flushes what comes.
/// @par Callers every lane of `g`, converged: the queue's owner, whose engine is away
/// @par Result true
GNSTOR_HD_SLOW inline bool cut_queue(const node& n, std::uint32_t queue, const simt::group g) {
  if (g.leads()) {
    break_queue(n, queue, wire::mlx5::syndrome::transport_retry_exceeded);
    auto life = static_cast<std::uint32_t>(queue_life::cut);
    // Not over what the host may have asked for meanwhile.
    (void)device_word<std::uint32_t>(n.queues[queue].active)
        .compare_exchange(life, static_cast<std::uint32_t>(queue_life::serving), acq_rel);
  }
  g.sync();
  return true;
}

}  // namespace gnstor::fw
