#pragma once

#include <gnstor/qp/nvme_pcie_rings.hpp>
#include <gnstor/qp/restartable_queue_pair.hpp>
#include <gnstor/qp/ring_queue_pair.hpp>
#include <gnstor/qp/sharing/shared.hpp>

namespace gnstor::inline v0 {

/// A submission and a completion queue of a local NVMe controller, driven by any number of lanes:
/// the bytes of NVMe over PCIe.
///
/// It does not know whether an SSD or the emulated controller consumes them. Commands come as they
/// go over a network, with a keyed SGL; their PRPs are made here, from the table of regions that
/// the device reaches (`dma_region`). A response says how far the submission queue was read, and
/// comes for every command: there is nothing to retire beside.
/// @tparam Scope the distance to the controller: `thread_scope_system` for an SSD or another device
/// @tparam Sharing who uses the queue pair at once
template <thread_scope Scope = thread_scope_system, sharing_policy Sharing = sharing::shared>
class nvme_pcie_queue_pair
    : public detail::ring_queue_pair<detail::nvme_pcie_rings<Scope>, Sharing> {
  using indices = detail::ring_queue_pair<detail::nvme_pcie_rings<Scope>, Sharing>;

 public:
  /// @param memory zero-filled memory of `nvme_pcie_queue_layout::of(depth, max_transfer)`, in
  /// which `state().lists` is set
  /// @param max_transfer bytes of a command at most, a multiple of 4096: up to 2 MiB
  /// @param regions `dma_region::most` of them, where the lanes reach them
  GNSTOR_HD nvme_pcie_queue_pair(unsigned char* memory, std::uint32_t depth,
                                 std::uint32_t max_transfer, nvme_pcie_doorbells doorbells,
                                 const dma_region* regions)
      : indices(typename indices::rings_type(memory, depth, max_transfer, doorbells, regions)) {}

  /// Nothing: every completion queue entry is the controller's from the beginning.
  GNSTOR_HD void post_receives() const {}
};

static_assert(restartable_queue_pair<nvme_pcie_queue_pair<>>);
static_assert(std::is_trivially_copyable_v<nvme_pcie_queue_pair<>> &&
              sizeof(nvme_pcie_queue_pair<>) == 32);

}  // namespace gnstor::inline v0
