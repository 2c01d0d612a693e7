#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// Memory of a peer that RDMA READ and WRITE reach: what a server of memory tells of a region.
struct remote_region {
  std::uint64_t address = 0;  ///< as the peer's NIC knows it
  std::uint64_t bytes = 0;
  std::uint32_t rkey = 0;
};
static_assert(std::is_trivially_copyable_v<remote_region>);

}  // namespace gnstor::inline v0
