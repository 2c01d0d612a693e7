#pragma once

#include <afa/node.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/wire/nvme/status.hpp>

namespace gnstor::fw {

/// A queue's owner looks for it once in so many rounds.
inline constexpr std::uint32_t dead_rounds = 256;

/// Answers what a queue still has with SSDs that fell silent and were then given up, as the front
/// end of an array does for a drive it has detached: whoever waits learns of it. True if there was
/// anything.
/// @par Callers every lane of the queue's owner, converged
GNSTOR_HD_SLOW inline bool answer_for_dead(const node& n, std::uint32_t queue,
                                           const simt::group g) {
  std::uint32_t lost = 0;
  if (g.leads()) lost = device_word<std::uint32_t>(n.queues[queue].lost_commands).load(relaxed);
  if (g.broadcast(lost) == 0) return false;
  const std::uint32_t depth = n.shape.max_depth;
  std::uint32_t found = 0;
  for (std::uint32_t k = g.thread_rank(); k < depth; k += g.size()) {
    const std::uint32_t handle = queue * depth + k;
    io_command& c = n.commands[handle];
    if (c.stage != command_stage::lost) continue;
    const std::uint32_t fault = device_word<std::uint32_t>(n.faults[c.ssd]).load(relaxed);
    if (static_cast<ssd_fault>(fault) != ssd_fault::dead) continue;
    c.status = wire::nvme::make_status(wire::nvme::generic_status::internal_error, true);
    c.stage = command_stage::done;
    n.done_ring(queue).push(handle);
    ++found;
  }
  if (found != 0)
    device_word<std::uint32_t>(n.queues[queue].lost_commands).fetch_sub(found, relaxed);
  const bool any = g.any(found != 0);
  g.sync();
  return any;
}

}  // namespace gnstor::fw
