#pragma once
/// The memory of an NVMe queue pair over PCIe: its rings, its PRP lists, its shared words.

#include <gnstor/core/assert.hpp>
#include <gnstor/wire/nvme/completion_entry.hpp>
#include <gnstor/wire/nvme/prp.hpp>

#include <cuda/std/bit>

#include <type_traits>

namespace gnstor::inline v0 {

/// The words that the lanes of a queue pair share, each in a line of its own.
struct nvme_pcie_queue_state {
  alignas(128) std::uint64_t reserved;   ///< send indices handed out
  alignas(128) std::uint64_t published;  ///< send indices whose entries are complete
  alignas(128) std::uint64_t retired;    ///< send indices whose entries may be overwritten
  alignas(128) std::uint64_t consumed;   ///< completion queue entries read, and so free again
  alignas(128) std::uint32_t send_lock;
  alignas(128) std::uint64_t announced;  ///< send indices that the tail doorbell has announced
  std::uint64_t given;                   ///< entries that the head doorbell has given back
  alignas(128) std::uint64_t lists;      ///< the device's address of the PRP lists
};

/// Where each part of a queue pair lies within one block of memory that the device reaches.
///
/// `depth` commands are in flight at most. A submission queue that is full holds one command less
/// than it has entries, so that both queues have twice as many. One PRP list for each command id,
/// none across the end of a page: so none is ever chained.
struct nvme_pcie_queue_layout {
  std::uint64_t state = 0;
  std::uint64_t reservations = 0;
  std::uint64_t submissions = 0;
  std::uint64_t completions = 0;
  std::uint64_t lists = 0;
  std::uint64_t bytes = 0;

  static constexpr std::uint32_t max_transfer_bytes =
      wire::nvme::prp_list_entries * wire::nvme::prp_page_bytes;  ///< 2 MiB: a list is a page

  GNSTOR_HD static constexpr std::uint32_t entries(std::uint32_t depth) { return 2 * depth; }
  /// Completions whose entries are given back by whoever takes them, without a doorbell of the
  /// other ring.
  GNSTOR_HD static constexpr std::uint32_t entries_kept(std::uint32_t depth) { return depth / 2; }

  /// The bytes of a PRP list, a power of two, for transfers of up to `max_transfer` bytes (a
  /// multiple of 4096): all pages but the first.
  GNSTOR_HD static constexpr std::uint32_t list_bytes(std::uint32_t max_transfer) {
    return cuda::std::bit_ceil(max_transfer / wire::nvme::prp_page_bytes *
                               wire::nvme::prp_entry_bytes);
  }

  GNSTOR_HD static constexpr nvme_pcie_queue_layout of(std::uint32_t depth,
                                                       std::uint32_t max_transfer) {
    nvme_pcie_queue_layout l;
    l.reservations = l.state + sizeof(nvme_pcie_queue_state);
    l.submissions = paged(l.reservations + std::uint64_t{depth} * sizeof(std::uint64_t));
    l.completions =
        paged(l.submissions + std::uint64_t{entries(depth)} * sizeof(wire::nvme::submission_entry));
    l.lists =
        paged(l.completions + std::uint64_t{entries(depth)} * sizeof(wire::nvme::completion_entry));
    l.bytes = paged(l.lists + std::uint64_t{depth} * list_bytes(max_transfer));
    return l;
  }

 private:
  GNSTOR_HD static constexpr std::uint64_t paged(std::uint64_t offset) {
    constexpr std::uint64_t page = wire::nvme::prp_page_bytes;
    return (offset + page - 1) / page * page;
  }
};

static_assert(nvme_pcie_queue_layout::list_bytes(128 << 10) == 256);
static_assert(nvme_pcie_queue_layout::of(128, 128 << 10).bytes <= 64 * 1024);
static_assert(std::is_trivially_copyable_v<nvme_pcie_queue_state>);

/// Largest depth: a queue of a controller has 65,536 entries at most.
inline constexpr std::uint32_t nvme_pcie_max_depth = 32768;

/// True if `depth` is one a queue pair can have: a power of two from 2 to 32768.
GNSTOR_HD constexpr bool nvme_pcie_valid_depth(std::uint32_t depth) {
  return depth >= 2 && depth <= nvme_pcie_max_depth && (depth & (depth - 1)) == 0;
}

}  // namespace gnstor::inline v0
