#pragma once
/// Memory channels and the emulated node that serves them, in one image.

#include "exchange_rig.hpp"

#include <remote_memory/memory_service.hpp>

namespace gnstor::test {

/// The owner of everything that an exchange with the emulated node needs.
class node_rig : public exchange_rig {
 public:
  explicit node_rig(exchange_size s, std::uint32_t workers = 2, std::size_t more = 0,
                    void* target = nullptr)
      : exchange_rig(s, node_bytes(s, workers) + more, target) {
    node.shape = shape_of(s, workers);
    node.regions = regions;
    node.region_changes = image.take<std::uint32_t>();
    node.queues = image.take<fw::queue_context>(s.channels);
    node.transfers = image.take<fw::transfer_slot>(node.shape.transfers());
    node.ring_ends = image.take<fw::handle_ring::ends>();
    node.copy_cells = image.take<std::uint64_t>(fw::memory_node::copy_cell_count(node.shape));
    node.tickets = image.take<std::uint64_t>(workers);
    node.stop = stop;
    for (std::uint32_t k = 0; k < s.channels; ++k) {
      fw::queue_context& c = image.here(node.queues)[k];
      c = fw::queue_context{};
      c.at = attributes[k];
      c.send_head = c.done_head = s.first_index;
      c.active = static_cast<std::uint32_t>(fw::queue_life::serving);
    }
  }

  static std::size_t node_bytes(exchange_size s, std::uint32_t workers) {
    const fw::memory_node_shape shape = shape_of(s, workers);
    return 4096 + s.channels * sizeof(fw::queue_context) +
           shape.transfers() * sizeof(fw::transfer_slot) +
           8 * (fw::memory_node::copy_cell_count(shape) + workers);
  }

  fw::memory_node node;

 private:
  static fw::memory_node_shape shape_of(exchange_size s, std::uint32_t workers) {
    return {.max_queues = s.channels,
            .max_depth = s.depth,
            .max_regions = most_regions,
            .copy_workers = workers};
  }
};

}  // namespace gnstor::test
