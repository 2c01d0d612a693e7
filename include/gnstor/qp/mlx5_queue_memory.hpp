#pragma once
/// The memory of an mlx5 queue pair: its rings, its shared words, and how it is prepared.

#include <gnstor/core/assert.hpp>
#include <gnstor/wire/mlx5/cqe.hpp>
#include <gnstor/wire/mlx5/doorbell.hpp>
#include <gnstor/wire/mlx5/segment.hpp>
#include <gnstor/wire/nvme/completion_entry.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// One basic block of the send ring: 64 bytes, four 16-byte segments.
struct alignas(64) mlx5_send_entry {
  unsigned char segment[4][16];
};

/// The words that the lanes of a queue pair share, each in a line of its own.
struct mlx5_queue_state {
  alignas(128) std::uint64_t reserved;   ///< send indices handed out
  alignas(128) std::uint64_t published;  ///< send indices whose entries are complete
  alignas(128) std::uint64_t retired;    ///< send indices whose entries may be overwritten
  alignas(128) std::uint64_t consumed;   ///< completion queue entries taken
  alignas(128) std::uint64_t received;   ///< receives taken
  alignas(128) std::uint32_t send_lock;
  alignas(128) wire::mlx5::doorbell_record doorbell_record;
  alignas(64) std::uint64_t completion_record;  ///< a NIC is given one; with overrun ignored,
                                                ///< nobody writes it
  alignas(128) std::uint64_t doorbell;          ///< the UAR, where an emulated NIC polls memory
};

/// Boundary at which a ring begins for a NIC: a page of the memory registered with it.
inline constexpr std::uint64_t mlx5_ring_alignment = 4096;

/// Where each ring of a queue pair lies within one block of registered memory.
///
/// `depth` commands: as many send entries, as many capsules if these are not inside, as many
/// receives. The rings that a NIC is given come last and at page boundaries: the completion ring,
/// and the work queue, which is the receive ring with the send ring right behind it.
struct mlx5_queue_layout {
  std::uint64_t state = 0;
  std::uint64_t capsules = 0;
  std::uint64_t responses = 0;
  std::uint64_t reservations = 0;
  std::uint64_t receive_ring = 0;
  std::uint64_t send_ring = 0;
  std::uint64_t completions = 0;
  std::uint64_t bytes = 0;

  /// As many as requests, and at least a basic block of them, behind which the send ring begins.
  GNSTOR_HD static constexpr std::uint32_t receive_entries(std::uint32_t depth) {
    return depth < 4 ? 4 : depth;
  }
  /// Room for whatever can be unread at once: a NIC that overruns a ring makes its reader wait for
  /// an entry that never comes, and overrun checks are off (nobody writes the consumer index). A
  /// queue pair that breaks flushes every receive and every send entry, as many of each. A receive
  /// is posted again after its completion was read; an entry is written again after a completion
  /// or an answer says that it has left the queue.
  GNSTOR_HD static constexpr std::uint32_t completion_entries(std::uint32_t depth) {
    return 2 * receive_entries(depth);
  }

  /// Receives that the NIC has used since they were last given back, of which so many are given
  /// back by whoever takes responses; at the latest when twice as many but one are used.
  GNSTOR_HD static constexpr std::uint32_t receives_kept(std::uint32_t depth) {
    return receive_entries(depth) / 2;
  }

  /// @param send_blocks basic blocks of a send entry: `capsule_placement`
  GNSTOR_HD static constexpr mlx5_queue_layout of(std::uint32_t depth,
                                                  std::uint32_t send_blocks = 1) {
    mlx5_queue_layout l;
    l.capsules = l.state + sizeof(mlx5_queue_state);
    const std::uint64_t outside = send_blocks == 1 ? depth : 0;  // of their entries
    l.responses = l.capsules + outside * sizeof(wire::nvme::submission_entry);
    l.reservations =
        l.responses + std::uint64_t{receive_entries(depth)} * sizeof(wire::nvme::completion_entry);
    l.completions = aligned(l.reservations + std::uint64_t{depth} * sizeof(std::uint64_t));
    l.receive_ring = aligned(l.completions + std::uint64_t{completion_entries(depth)} *
                                                 sizeof(wire::mlx5::completion_entry));
    l.send_ring =
        l.receive_ring + std::uint64_t{receive_entries(depth)} * sizeof(wire::mlx5::data_segment);
    l.bytes = l.send_ring + std::uint64_t{depth} * send_blocks * sizeof(mlx5_send_entry);
    return l;
  }

 private:
  GNSTOR_HD static constexpr std::uint64_t aligned(std::uint64_t offset) {
    return (offset + mlx5_ring_alignment - 1) / mlx5_ring_alignment * mlx5_ring_alignment;
  }
};

static_assert(sizeof(mlx5_send_entry) == 64);
static_assert(sizeof(wire::mlx5::data_segment) == 16, "the stride of the receive ring");
static_assert(mlx5_queue_layout::of(2).send_ring == mlx5_queue_layout::of(2).receive_ring + 64 &&
                  mlx5_queue_layout::of(2).send_ring % 64 == 0,
              "the send ring follows the receive ring at a basic block");
static_assert(sizeof(mlx5_queue_state) == 1024 &&
                  mlx5_queue_layout::of(128, 2).completions == mlx5_ring_alignment &&
                  mlx5_queue_layout::of(128, 2).bytes <= 39 * 1024,
              "what is no ring fits into one page, so that no page is half empty");
static_assert(std::is_trivially_copyable_v<mlx5_queue_state>);

/// Largest depth, in basic blocks. Ring counters are 16 bits wide on the wire, and what lies a full
/// ring behind must differ from what lies as far ahead.
inline constexpr std::uint32_t mlx5_max_depth = 16384;

/// True if `depth` is one a queue pair can have: a power of two from 2 to 16384, or 8192 where an
/// entry takes two blocks.
GNSTOR_HD constexpr bool mlx5_valid_depth(std::uint32_t depth, std::uint32_t send_blocks = 1) {
  return depth >= 2 && depth <= mlx5_max_depth / send_blocks && (depth & (depth - 1)) == 0;
}

/// Prepares zero-filled queue memory: every completion entry is marked invalid, as the NIC's first
/// lap expects.
GNSTOR_HD inline void mlx5_format_queue(unsigned char* memory, std::uint32_t depth,
                                        std::uint32_t send_blocks = 1) {
  GNSTOR_VERIFY(mlx5_valid_depth(depth, send_blocks));
  const mlx5_queue_layout l = mlx5_queue_layout::of(depth, send_blocks);
  for (std::uint64_t k = 0; k < l.bytes; ++k) memory[k] = 0;
  for (std::uint64_t k = 0; k < mlx5_queue_layout::completion_entries(depth); ++k) {
    memory[l.completions + k * 64 + 63] = wire::mlx5::unwritten_tail >> 24;
  }
}

}  // namespace gnstor::inline v0
