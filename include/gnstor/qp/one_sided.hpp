#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0 {

/// A one-sided transfer between registered memory of this side and of the peer.
struct one_sided {
  std::uint64_t local_address = 0;
  std::uint64_t remote_address = 0;
  std::uint32_t lkey = 0;
  std::uint32_t rkey = 0;
  std::uint32_t bytes = 0;
  bool write = false;  ///< RDMA WRITE towards the peer if true, RDMA READ from it if false
};

}  // namespace gnstor::inline v0
