#pragma once
/// Data inside a send work queue entry: its length with bit 31 set, then the bytes, padded to 16.

#include <gnstor/wire/endian.hpp>

namespace gnstor::wire::mlx5 {

/// The first word of an inline segment of `bytes` bytes. PRM, "Inline data segment"; rdma-core's
/// `mlx5_wqe_inline_seg`.
GNSTOR_HD constexpr std::uint32_t inline_segment_word(std::uint32_t bytes) {
  return be32(bytes | 0x80000000u);
}

/// True if a segment that begins with `word` holds its data itself, and does not point to it.
GNSTOR_HD constexpr bool is_inline_segment(std::uint32_t word) {
  return (be32(word) & 0x80000000u) != 0;
}

static_assert(inline_segment_word(64) == 0x40000080 && is_inline_segment(0x40000080));

}  // namespace gnstor::wire::mlx5
