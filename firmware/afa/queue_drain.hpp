#pragma once

#include <afa/node.hpp>
#include <gnstor/simt/group.hpp>

namespace gnstor::fw {

/// Ends the present life of one queue pair: takes back every command it has in the array, without
/// an answer, and then forgets all it knew of the queue.
///
/// What was handed to the shards is carried out; so once the context is `drained`, nothing of the
/// queue pair's earlier requests can write memory or completions. Commands that an injected fault
/// swallowed come back too.
class queue_drain {
 public:
  GNSTOR_HD queue_drain(const node& n, std::uint32_t queue)
      : node_(&n), queue_(queue), context_(&n.queues[queue]) {}

  /// One round. True if anything was done.
  /// @par Callers as `queue_engine::tick`, whose owner it is
  /// @par Order `drained` releases what the queue's commands wrote
  GNSTOR_HD bool tick(const simt::group& g) const {
    const handle_ring done = node_->done_ring(queue_);
    const std::uint64_t head = context_->done_head;
    std::uint32_t handle = 0;
    const std::uint32_t back = g.leading(done.peek(head + g.thread_rank(), handle));
    g.sync();
    if (g.leads() && back != 0) {
      context_->done_head = head + back;
      context_->free_commands += back;
    }
    g.sync();
    const std::uint32_t depth = node_->shape.max_depth;
    if (context_->free_commands + context_->lost_commands != depth) return back != 0;
    std::uint32_t* stack = node_->free_slots + std::uint64_t{queue_} * depth;
    for (std::uint32_t k = g.thread_rank(); k < depth; k += g.size()) stack[k] = k;
    g.sync();
    if (g.leads()) forget();
    g.sync();
    return true;
  }

 private:
  GNSTOR_HD void forget() const {
    queue_context& c = *context_;
    const std::uint64_t done = c.done_head;
    static_cast<queue_progress&>(c) = queue_progress{};
    c.done_head = done;
    c.free_commands = node_->shape.max_depth;
    c.lost_commands = 0;
    c.first_lost = 0;
    // Paired with the acquire load of who asked for it.
    device_word<std::uint32_t>(c.active).store(static_cast<std::uint32_t>(queue_life::drained),
                                               release);
  }

  const node* node_;
  std::uint32_t queue_;
  queue_context* context_;
};

}  // namespace gnstor::fw
