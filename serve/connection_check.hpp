#pragma once

#include "target_limits.hpp"
#include <gnstor/wire/fabrics/connection_request.hpp>
#include <gnstor/wire/fabrics/reject_reason.hpp>

#include <optional>
#include <span>

namespace gnstor::serve {

/// What became of the private data of a connection request: the request, or why it is rejected.
struct connection_check {
  wire::fabrics::connection_request request{};
  std::optional<wire::fabrics::reject_reason> rejected;
  std::uint32_t entries = 0;  ///< receives that the connection gets

  /// Reads `data` as the private data of an RDMA connection. NVMe RDMA Transport 1.1, "Connection
  /// Establishment". It may be longer than the request: the RDMA CM fills it up.
  static connection_check of(std::span<const unsigned char> data, const target_limits& limits);
};

}  // namespace gnstor::serve
