#pragma once

#include <gnstor/wire/endian.hpp>

#include <type_traits>

namespace gnstor::wire::mlx5 {

/// Where a one-sided READ or WRITE goes in the peer's memory: the 16 bytes after the control
/// segment.
///
/// PRM, "Remote address segment"; rdma-core's `mlx5_wqe_raddr_seg`.
struct alignas(16) remote_address_segment {
  std::uint64_t address_be;
  std::uint32_t rkey_be;
  std::uint32_t reserved;

  GNSTOR_HD constexpr std::uint64_t address() const { return be64(address_be); }
  GNSTOR_HD constexpr std::uint32_t rkey() const { return be32(rkey_be); }
};

static_assert(sizeof(remote_address_segment) == 16);
static_assert(std::is_trivial_v<remote_address_segment>);
static_assert(offsetof(remote_address_segment, address_be) == 0);
static_assert(offsetof(remote_address_segment, rkey_be) == 8);
static_assert(offsetof(remote_address_segment, reserved) == 12);

/// The segment that names the peer's memory at `address`, opened by the peer's key `rkey`.
GNSTOR_HD constexpr remote_address_segment make_remote_address(std::uint64_t address,
                                                               std::uint32_t rkey) {
  remote_address_segment segment{};
  segment.address_be = be64(address);
  segment.rkey_be = be32(rkey);
  return segment;
}

}  // namespace gnstor::wire::mlx5
