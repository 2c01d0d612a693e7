#pragma once

#include <gnstor/simt/atomic_ref.hpp>

#include <nvme_pcie/dma_mapping.hpp>
#include <nvme_pcie/namespace_store.hpp>
#include <nvme_pcie/nvme_namespace.hpp>
#include <nvme_pcie/nvme_queue.hpp>

#include <type_traits>

namespace gnstor::fw {

/// The capacities of an emulated local controller, fixed before it starts.
struct nvme_node_shape {
  std::uint32_t queues = 4;   ///< I/O queue pairs
  std::uint32_t workers = 1;  ///< warps that serve a queue together
  std::uint32_t namespaces = 1;

  GNSTOR_HD constexpr std::uint32_t roles() const { return queues * workers; }
};

/// The part of an emulated local NVMe controller that serves I/O queues, as plain pointers into
/// memory that a runner provides. Registers and the admin queue are `nvme_controller`'s.
///
/// Trivially copyable; a kernel takes it by value.
struct nvme_node {
  nvme_node_shape shape;
  nvme_queue* queues = nullptr;          ///< [shape.queues]; queue id 1 is the first
  nvme_namespace* namespaces = nullptr;  ///< [shape.namespaces]; namespace 1 is the first
  dma_mapping* mappings = nullptr;       ///< [dma_mapping::most]
  namespace_store* store = nullptr;      ///< what a Flush needs on a CPU; null: memory alone
  std::uint32_t* stop = nullptr;         ///< not zero: every worker returns
  std::uint32_t* host_stop = nullptr;    ///< likewise, in memory of the host; or null

  /// The memory of `length` bytes at a DMA address; null if they are not all mapped.
  GNSTOR_HD unsigned char* find(std::uint64_t address, std::uint64_t length) const {
    const std::uint64_t window = dma_mapping::window_of(address);
    if (window >= dma_mapping::most) return nullptr;
#if defined(__CUDA_ARCH__)
    return mappings[window].find(address, length);
#else
    // Another thread may map or unmap some other memory meanwhile.
    dma_mapping now;
    now.bytes = system_word<std::uint64_t>(mappings[window].bytes).load(relaxed);
    now.memory = system_word<std::uint64_t>(mappings[window].memory).load(relaxed);
    return now.find(address, length);
#endif
  }
};

static_assert(std::is_trivially_copyable_v<nvme_node> && sizeof(nvme_node) <= 128);

}  // namespace gnstor::fw
