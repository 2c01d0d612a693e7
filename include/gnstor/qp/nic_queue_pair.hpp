#pragma once

#include <gnstor/qp/capsule/in_entry.hpp>
#include <gnstor/qp/mlx5_queue_pair.hpp>

namespace gnstor::inline v0 {

/// The queue pairs of sessions whose kernels drive the NIC, real or emulated. Capsules lie in their
/// entries: the NIC knows a command after one read instead of two, one after the other.
using nic_queue_pair = mlx5_queue_pair<thread_scope_system, sharing::shared, capsule::in_entry>;

}  // namespace gnstor::inline v0
