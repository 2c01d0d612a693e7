#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::mlx5 {

/// What kind of completion a CQE reports: bits 7:4 of its last byte.
///
/// PRM, "CQE format"; rdma-core's `MLX5_CQE_*`.
enum class cqe_opcode : std::uint8_t {
  requester = 0,
  responder_write_immediate = 1,
  responder_send = 2,
  responder_send_immediate = 3,
  responder_send_invalidate = 4,
  signature_error = 12,
  requester_error = 13,
  responder_error = 14,
  invalid = 15,  ///< the NIC has not written this entry yet
};

/// True for the completions that carry a syndrome instead of a byte count.
GNSTOR_HD constexpr bool is_error(cqe_opcode kind) {
  return kind == cqe_opcode::requester_error || kind == cqe_opcode::responder_error ||
         kind == cqe_opcode::signature_error;
}

}  // namespace gnstor::wire::mlx5
