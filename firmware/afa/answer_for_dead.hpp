#pragma once

#include <afa/node.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <cuda/std/bit>

namespace gnstor::fw {

/// A queue's owner looks for it once in so many rounds.
inline constexpr std::uint32_t dead_rounds = 256;

/// Notes which commands silent SSDs have swallowed: those of the lanes in `lost`.
/// @par Callers every lane of the queue's owner, converged
GNSTOR_HD_SLOW inline void note_lost(const node& n, std::uint32_t queue, const simt::group g,
                                     std::uint32_t lost, std::uint32_t handle) {
  queue_context& context = n.queues[queue];
  const std::uint32_t base = queue * n.shape.max_depth;
  const std::uint32_t before = lost & ((1u << g.thread_rank()) - 1);
  const auto previous = static_cast<int>(31 - cuda::std::countl_zero(before | 1));
  const auto last = static_cast<int>(31 - cuda::std::countl_zero(lost));
  const std::uint32_t next = g.shfl(handle, previous) - base + 1;
  const std::uint32_t first = g.shfl(handle, last) - base + 1;
  if ((lost >> g.thread_rank() & 1) != 0)
    n.commands[handle].remaining = before != 0 ? next : context.first_lost;
  g.sync();
  if (g.leads()) context.first_lost = first;
  g.sync();
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
