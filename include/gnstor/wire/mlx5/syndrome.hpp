#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::mlx5 {

/// Why a work request failed: byte 55 of an error CQE.
///
/// PRM, "Completion with error syndromes"; rdma-core's `MLX5_CQE_SYNDROME_*`.
enum class syndrome : std::uint8_t {
  none = 0x00,
  local_length_error = 0x01,
  local_queue_pair_error = 0x02,
  local_protection_error = 0x04,
  flushed = 0x05,  ///< another request failed first and stopped the queue pair
  memory_window_bind_error = 0x06,
  bad_response_error = 0x10,
  local_access_error = 0x11,
  remote_invalid_request = 0x12,
  remote_access_error = 0x13,
  remote_operation_error = 0x14,
  transport_retry_exceeded = 0x15,
  rnr_retry_exceeded = 0x16,  ///< the peer never had a receive posted
  remote_aborted = 0x22,
};

}  // namespace gnstor::wire::mlx5
