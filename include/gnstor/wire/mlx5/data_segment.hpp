#pragma once

#include <gnstor/wire/endian.hpp>

#include <type_traits>

namespace gnstor::wire::mlx5 {

inline constexpr std::uint32_t invalid_lkey = 0x100;  ///< ends a list shorter than its stride

/// A piece of local memory that a work queue entry gathers from or scatters to.
///
/// A receive queue's entry is nothing but these; in the send queue it follows the control or remote
/// address segment. PRM, "Memory pointer data segment"; rdma-core's `mlx5_wqe_data_seg`.
struct alignas(16) data_segment {
  std::uint32_t byte_count_be;  ///< bit 31 is zero: the segment is a pointer, not inline data
  std::uint32_t lkey_be;
  std::uint64_t address_be;

  GNSTOR_HD constexpr std::uint32_t bytes() const { return be32(byte_count_be); }
  GNSTOR_HD constexpr std::uint32_t lkey() const { return be32(lkey_be); }
  GNSTOR_HD constexpr std::uint64_t address() const { return be64(address_be); }
};

static_assert(sizeof(data_segment) == 16 && std::is_trivial_v<data_segment>);
static_assert(offsetof(data_segment, byte_count_be) == 0);
static_assert(offsetof(data_segment, lkey_be) == 4);
static_assert(offsetof(data_segment, address_be) == 8);

/// The segment that names `bytes` (below 2^31) of local memory at `address`, opened by `lkey`.
GNSTOR_HD constexpr data_segment make_data(std::uint64_t address, std::uint32_t lkey,
                                           std::uint32_t bytes) {
  data_segment segment{};
  segment.byte_count_be = be32(bytes);
  segment.lkey_be = be32(lkey);
  segment.address_be = be64(address);
  return segment;
}

}  // namespace gnstor::wire::mlx5
