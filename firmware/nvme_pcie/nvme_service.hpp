#pragma once

#include <afa/service_rounds.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/simt/warp_number.hpp>

#include <nvme_pcie/nvme_worker.hpp>

namespace gnstor::fw {

/// The main loop of an emulated local controller's I/O queues: a warp for each worker, until the
/// controller is asked to stop.
///
/// The same code runs beside the kernels of a GPU, as lanes of the host runtime, and on CPU
/// threads.
struct nvme_service {
  static constexpr std::uint32_t most_warps = 8;  ///< of a block
  static constexpr std::uint32_t most_threads = 32 * most_warps;
  nvme_node node;

  /// @par Callers every lane of the grid, whole warps; at least as many as there are workers
  template <class Lane>
  GNSTOR_HD_INLINE void operator()(Lane&) const {
    const std::uint32_t role = simt::warp_number();
    if (role >= node.shape.roles()) return;
    const simt::group g = simt::group::whole_warp();
    nvme_worker own(node, role);
    const service_rounds<nvme_node> rounds{&node, role};
    rounds.repeat(
        g, [&](std::uint32_t, std::uint32_t) { return own.tick(g); }, true);
  }
};

static_assert(std::is_trivially_copyable_v<nvme_service>);

}  // namespace gnstor::fw
