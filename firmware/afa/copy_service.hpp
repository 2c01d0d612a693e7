#pragma once

#include <afa/copy_engine.hpp>
#include <afa/near_node.hpp>
#include <afa/service_rounds.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/simt/warp_number.hpp>

namespace gnstor::fw {

/// The main loop of copy workers alone, one a warp. A worker needs few registers: a multiprocessor
/// holds three times as many as in a grid of all engines.
///
/// `service` with `first_role = shape.copy_workers` is the rest of the node.
struct copy_service {
  static constexpr std::uint32_t most_threads = 768;  ///< of a block: 80 registers each
  using shared = near_node::storage;
  node array;

  /// @par Callers every lane of the grid, whole warps; as many as there are workers, or more
  template <class Lane>
  GNSTOR_HD_INLINE void operator()(Lane& lane) const {
    const simt::group g = simt::group::whole_warp();
    const node near = near_node::of(lane, array, lane.shared());
    const std::uint32_t worker = simt::warp_number();
    if (worker >= near.shape.copy_workers) return;
    copy_engine own(near, worker);
    service_rounds<node>{&near, worker}.repeat(
        g, [&](std::uint32_t, std::uint32_t) { return own.tick(g); });
    own.save(g);
  }
};

static_assert(std::is_trivially_copyable_v<copy_service>);

}  // namespace gnstor::fw
