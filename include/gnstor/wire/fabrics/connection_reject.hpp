#pragma once

#include <gnstor/wire/fabrics/reject_reason.hpp>

#include <type_traits>

namespace gnstor::wire::fabrics {

/// Private data of a refused `connection_request`. NVMe RDMA Transport 1.1, "REJ private data".
struct connection_reject {
  std::uint16_t recfmt;
  std::uint16_t status;  ///< a `reject_reason`
};

static_assert(sizeof(connection_reject) == 4 && std::is_trivial_v<connection_reject>);
static_assert(offsetof(connection_reject, recfmt) == 0);
static_assert(offsetof(connection_reject, status) == 2);

}  // namespace gnstor::wire::fabrics
