#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::mlx5 {

/// What a send work queue entry asks the NIC to do: byte 3 of its control segment.
///
/// PRM, "WQE control segment"; the same numbers as rdma-core's `MLX5_OPCODE_*`.
enum class opcode : std::uint8_t {
  nop = 0x00,
  send_invalidate = 0x01,
  rdma_write = 0x08,
  rdma_write_immediate = 0x09,
  send = 0x0a,
  send_immediate = 0x0b,
  rdma_read = 0x10,
  atomic_compare_swap = 0x11,
  atomic_fetch_add = 0x12,
};

}  // namespace gnstor::wire::mlx5
