#pragma once

#include <gnstor/qp/either_queue_pair.hpp>
#include <gnstor/qp/mlx5_queue_pair.hpp>

namespace gnstor::inline v0 {

/// The queue pair of whoever moves data by RDMA READ and WRITE, whatever the endpoint. A NIC's
/// entries have one block: a transfer in an entry of two would leave a block over.
using transfer_queue_pair = either_queue_pair<mlx5_queue_pair<>>;

static_assert(one_sided_queue_pair<transfer_queue_pair>);
static_assert(std::is_trivially_copyable_v<transfer_queue_pair> &&
              sizeof(transfer_queue_pair) == 40);

}  // namespace gnstor::inline v0
