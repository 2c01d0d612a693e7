#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::fabrics {

/// Private data of the RDMA CM answer to a `connection_request`. NVMe RDMA Transport 1.1, "REP
/// private data".
struct connection_accept {
  std::uint16_t recfmt;
  std::uint16_t crqsize;  ///< receive queue entries of the controller
  std::uint8_t reserved4[28];
};

static_assert(sizeof(connection_accept) == 32 && std::is_trivial_v<connection_accept>);
static_assert(offsetof(connection_accept, recfmt) == 0);
static_assert(offsetof(connection_accept, crqsize) == 2);
static_assert(offsetof(connection_accept, reserved4) == 4);

}  // namespace gnstor::wire::fabrics
