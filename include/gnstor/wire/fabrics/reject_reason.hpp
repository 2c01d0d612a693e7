#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::fabrics {

/// Why a target refuses an RDMA connection. NVMe RDMA Transport 1.1, "Error codes".
enum class reject_reason : std::uint16_t {
  invalid_length = 1,
  invalid_record_format = 2,
  invalid_queue_id = 3,
  invalid_host_send_queue_size = 4,
  invalid_host_receive_queue_size = 5,
  no_resources = 6,
  invalid_ird = 7,
  invalid_ord = 8,
  invalid_controller_id = 9,
};

}  // namespace gnstor::wire::fabrics
