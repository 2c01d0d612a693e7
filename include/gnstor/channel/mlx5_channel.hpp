#pragma once

#include <gnstor/channel/channel.hpp>
#include <gnstor/qp/mlx5_queue_pair.hpp>

namespace gnstor::inline v0 {

/// A channel over mlx5 queue pairs: a ConnectX or the emulated NIC. System scope, as another device
/// reads the queues.
using mlx5_channel = channel<mlx5_queue_pair<thread_scope_system>>;

}  // namespace gnstor::inline v0
