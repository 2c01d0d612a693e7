#pragma once

#include <afa/handle_ring.hpp>
#include <hca/memory_region.hpp>
#include <hca/queue_context.hpp>

#include <cuda/std/bit>

#include <type_traits>

namespace gnstor::fw {

/// The capacities of a memory node, fixed before it starts.
struct memory_node_shape {
  std::uint32_t max_queues = 4;
  std::uint32_t max_depth = 64;  ///< entries of a send queue, at most; a power of two
  std::uint32_t max_regions = 64;
  std::uint32_t copy_workers = 1;

  GNSTOR_HD constexpr std::uint32_t transfers() const { return max_queues * max_depth; }
  /// Engines that need an owner: copy workers, then queues.
  GNSTOR_HD constexpr std::uint32_t roles() const { return copy_workers + max_queues; }
};

/// One entry of a send queue between its fetch and its completion.
struct alignas(64) transfer_slot {
  std::uint64_t to = 0;
  std::uint64_t from = 0;
  std::uint32_t bytes = 0;
  std::uint32_t piece_bytes = 0;  ///< that one copy worker moves at a time; the last has the rest
  std::uint32_t remaining = 0;    ///< pieces that are not in place yet; atomic
  std::uint32_t signalled = 0;
  std::uint32_t opcode = 0;  ///< for the completion
};
static_assert(sizeof(transfer_slot) == 64);

/// A machine whose memory others read and write by RDMA: its NIC, as plain pointers into memory
/// that a runner provides. It has no CPU that takes part, and no SSDs.
///
/// Trivially copyable; a kernel takes it by value. A queue's context belongs to its transfer
/// engine; a slot to that engine, but for the copy of its pieces.
struct memory_node {
  /// Pieces of a transfer at most: what a large page is spread over.
  static constexpr std::uint32_t most_pieces = 32;

  memory_node_shape shape;
  memory_region* regions = nullptr;
  std::uint32_t* region_changes = nullptr;
  queue_context* queues = nullptr;
  transfer_slot* transfers = nullptr;      ///< [max_queues][max_depth]
  handle_ring::ends* ring_ends = nullptr;  ///< of the copy ring
  std::uint64_t* copy_cells = nullptr;     ///< [copy_cell_count(shape)]
  std::uint64_t* tickets = nullptr;        ///< [copy_workers]: ticket + 1, 0 for none
  std::uint32_t* stop = nullptr;           ///< not zero: every engine returns
  std::uint32_t* host_stop = nullptr;      ///< likewise, in memory of the host; or null

  GNSTOR_HD region_table keys() const {
    return region_table(regions, shape.max_regions, region_changes);
  }
  /// Pieces to be copied, by number: slot * most_pieces + piece.
  GNSTOR_HD handle_ring copy_ring() const {
    return handle_ring(ring_ends, copy_cells, copy_cell_count(shape));
  }
  GNSTOR_HD static constexpr std::uint32_t copy_cell_count(const memory_node_shape& s) {
    return cuda::std::bit_ceil(s.transfers() * most_pieces);
  }
};

static_assert(std::is_trivially_copyable_v<memory_node>);

}  // namespace gnstor::fw
