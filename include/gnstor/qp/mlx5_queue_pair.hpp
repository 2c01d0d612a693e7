#pragma once

#include <gnstor/qp/mlx5_rings.hpp>
#include <gnstor/qp/restartable_queue_pair.hpp>
#include <gnstor/qp/ring_queue_pair.hpp>
#include <gnstor/qp/sharing/shared.hpp>

namespace gnstor::inline v0 {

/// An mlx5 reliable connection driven by any number of lanes: real WQE, CQE and doorbell bytes.
///
/// It does not know whether a ConnectX or the emulated NIC consumes them. Capsules are sent by
/// pointer (control segment and data segment, one basic block) or inside the entry, responses
/// arrive in a receive ring or, if the queue pair was made so, in their completions; one completion
/// queue serves both. Layouts: rdma-core `mlx5dv.h`; `include/gnstor/wire/mlx5`. Rings and
/// doorbells, which the peer reads and writes, are loads and stores of `Scope`.
/// @tparam Scope the distance to the NIC: `thread_scope_system` for a NIC or another device
/// @tparam Sharing who uses the queue pair at once; the same memory either way, not at the same
/// time
/// @tparam Capsule where capsules lie; the layout of the memory follows it
template <thread_scope Scope = thread_scope_system, sharing_policy Sharing = sharing::shared,
          capsule_placement Capsule = capsule::by_pointer>
class mlx5_queue_pair
    : public detail::ring_queue_pair<detail::mlx5_rings<Scope, Capsule>, Sharing> {
  using indices = detail::ring_queue_pair<detail::mlx5_rings<Scope, Capsule>, Sharing>;

 public:
  using indices::rings;
  using typename indices::rings_type;
  /// Basic blocks of a send entry.
  static constexpr std::uint32_t blocks = Capsule::blocks;

  /// @param memory queue memory of `mlx5_queue_layout::of(depth, blocks)`, formatted, registered
  /// under `lkey`
  /// @param doorbell the UAR register; null if an emulated NIC polls the word inside `memory`
  /// @param same_device that NIC runs on the device whose lanes use this queue pair
  GNSTOR_HD mlx5_queue_pair(unsigned char* memory, std::uint32_t depth, std::uint32_t number,
                            std::uint32_t lkey, std::uint64_t* doorbell = nullptr,
                            bool same_device = false)
      : indices(rings_type(memory, depth, number, lkey, doorbell, same_device)) {}

  /// The same queue pair, used by fewer or by more lanes at once from now on.
  template <sharing_policy Other>
  GNSTOR_HD mlx5_queue_pair<Scope, Other, Capsule> with() const {
    return {rings().memory(), rings().depth(),    number(),
            rings().lkey(),   rings().doorbell(), rings().same_device()};
  }

  GNSTOR_HD std::uint32_t number() const { return rings().number(); }

  /// Writes the send entry `index` for an RDMA READ or WRITE; its completion is signalled.
  GNSTOR_HD void write_one_sided(std::uint64_t index, const one_sided& t) const
      requires(blocks == 1) {
    rings().write_one_sided(index, t);
  }

  /// Fills the receive ring and gives it to the NIC. Once, before the first request.
  /// @par Callers one lane
  GNSTOR_HD void post_receives() const {
    rings().write_receives();
    rings().give_receives(indices::word(indices::state().received).load(relaxed));
  }
};

static_assert(restartable_queue_pair<mlx5_queue_pair<>>);
static_assert(std::is_trivially_copyable_v<mlx5_queue_pair<>> && sizeof(mlx5_queue_pair<>) == 32);

}  // namespace gnstor::inline v0
