#pragma once

#include <gnstor/qp/mlx5_queue_memory.hpp>
#include <hca/queue_context.hpp>

#include <cstddef>

namespace gnstor::fw {

/// The attributes, for the NIC, of the queue pair `number` whose memory lies at `address` as
/// `mlx5_queue_layout` has it. Its protection domain is the caller's to add.
/// @param blocks basic blocks of a send entry
inline queue_attributes queue_in_memory(std::uint64_t address, std::uint32_t depth,
                                        std::uint32_t number, std::uint32_t blocks) {
  const mlx5_queue_layout layout = mlx5_queue_layout::of(depth, blocks);
  queue_attributes at;
  at.send_ring = address + layout.send_ring;
  at.receive_ring = address + layout.receive_ring;
  at.completion_ring = address + layout.completions;
  at.doorbell_record = address + offsetof(mlx5_queue_state, doorbell_record);
  at.doorbell = address + offsetof(mlx5_queue_state, doorbell);
  at.number = number;
  at.send_entries = depth * blocks;
  at.receive_entries = mlx5_queue_layout::receive_entries(depth);
  at.completion_entries = mlx5_queue_layout::completion_entries(depth);
  return at;
}

}  // namespace gnstor::fw
