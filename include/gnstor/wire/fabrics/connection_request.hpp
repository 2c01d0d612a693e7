#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::fabrics {

/// Private data of the RDMA CM request that opens a queue. NVMe RDMA Transport 1.1, "REQ private
/// data".
struct connection_request {
  std::uint16_t recfmt;
  std::uint16_t qid;
  std::uint16_t hrqsize;  ///< receive queue entries of the host
  std::uint16_t hsqsize;  ///< send queue entries of the host, zero based
  std::uint16_t cntlid;   ///< the controller an I/O queue joins; reserved for the admin queue
  std::uint8_t reserved10[22];
};

static_assert(sizeof(connection_request) == 32 && std::is_trivial_v<connection_request>);
static_assert(offsetof(connection_request, recfmt) == 0);
static_assert(offsetof(connection_request, qid) == 2);
static_assert(offsetof(connection_request, hrqsize) == 4);
static_assert(offsetof(connection_request, hsqsize) == 6);
static_assert(offsetof(connection_request, cntlid) == 8);
static_assert(offsetof(connection_request, reserved10) == 10);

}  // namespace gnstor::wire::fabrics
