#pragma once

#include <gnstor/qp/either_queue_pair.hpp>
#include <gnstor/qp/nic_queue_pair.hpp>
#include <gnstor/qp/nvme_pcie_queue_pair.hpp>
#include <gnstor/qp/nvme_striped_queue_pair.hpp>

namespace gnstor::inline v0 {

/// The queue pair of sessions, whatever their endpoint: NVMe commands.
using any_queue_pair =
    either_queue_pair<nic_queue_pair, nvme_pcie_queue_pair<>, nvme_striped_queue_pair>;

static_assert(restartable_queue_pair<any_queue_pair>);
static_assert(std::is_trivially_copyable_v<any_queue_pair> && sizeof(any_queue_pair) == 40);

}  // namespace gnstor::inline v0
