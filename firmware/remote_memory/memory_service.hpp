#pragma once

#include <afa/service_rounds.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/simt/warp_number.hpp>

#include <remote_memory/transfer_engine.hpp>
#include <remote_memory/transfer_worker.hpp>

namespace gnstor::fw {

/// The main loop of a memory node: a warp for each engine, until the node is asked to stop.
///
/// The same code runs beside the kernels of a GPU and as lanes of the host runtime.
struct memory_service {
  static constexpr std::uint32_t most_warps = 8;  ///< of a block
  static constexpr std::uint32_t most_threads = 32 * most_warps;
  memory_node array;

  /// @par Callers every lane of the grid, whole warps; at least as many as the node has engines
  template <class Lane>
  GNSTOR_HD_INLINE void operator()(Lane&) const {
    const simt::group g = simt::group::whole_warp();
    const std::uint32_t role = simt::warp_number();
    if (role >= array.shape.roles()) return;
    const service_rounds<memory_node> rounds{&array, role};
    if (role < array.shape.copy_workers) {
      transfer_worker own(array, role);
      rounds.repeat(g, [&](std::uint32_t, std::uint32_t) { return own.tick(g); });
      own.save(g);
    } else {
      transfer_engine own(array, role - array.shape.copy_workers);
      rounds.repeat(
          g, [&](std::uint32_t, std::uint32_t) { return own.tick(g); }, true);
      own.save(g);
    }
  }
};

static_assert(std::is_trivially_copyable_v<memory_service>);

}  // namespace gnstor::fw
