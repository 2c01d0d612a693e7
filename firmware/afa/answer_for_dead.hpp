#pragma once

#include <afa/node.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/wire/nvme/status.hpp>

namespace gnstor::fw {

/// A queue's owner looks for it once in so many rounds.
inline constexpr std::uint32_t dead_rounds = 256;

/// Notes a command that a silent SSD has swallowed.
/// @par Callers any lane of the queue's owner
GNSTOR_HD_INLINE void note_lost(const node& n, std::uint32_t queue, std::uint32_t handle) {
  const std::uint32_t at = handle - queue * n.shape.max_depth + 1;
  n.commands[handle].remaining =
      device_word<std::uint32_t>(n.queues[queue].first_lost).exchange(at, relaxed);
}

/// Answers what a queue still has with SSDs that fell silent and were then given up, as the front
/// end of an array does for a drive it has detached: whoever waits learns of it. True if there was
/// anything.
/// @par Callers every lane of the queue's owner, converged
GNSTOR_HD_SLOW inline bool answer_for_dead(const node& n, std::uint32_t queue,
                                           const simt::group g) {
  queue_context& context = n.queues[queue];
  const std::uint32_t base = queue * n.shape.max_depth;
  std::uint32_t found = 0;
  if (g.leads()) {
    std::uint32_t at = context.first_lost;
    std::uint32_t kept = 0;
    for (bounded left{n.shape.max_depth}; left && at != 0;) {
      const std::uint32_t handle = base + at - 1;
      io_command& c = n.commands[handle];
      const std::uint32_t next = c.remaining;
      const std::uint32_t fault = device_word<std::uint32_t>(n.faults[c.ssd]).load(relaxed);
      if (static_cast<ssd_fault>(fault) == ssd_fault::dead) {
        c.status = wire::nvme::make_status(wire::nvme::generic_status::internal_error, true);
        c.stage = command_stage::done;
        n.done_ring(queue).push(handle);
        ++found;
      } else {
        c.remaining = kept;
        kept = at;
      }
      at = next;
    }
    context.first_lost = kept;
    if (found != 0) device_word<std::uint32_t>(context.lost_commands).fetch_sub(found, relaxed);
  }
  const bool any = g.broadcast(found) != 0;
  g.sync();
  return any;
}

}  // namespace gnstor::fw
