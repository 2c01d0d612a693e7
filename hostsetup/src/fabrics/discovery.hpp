#pragma once

#include "admin_queue.hpp"
#include <gnstor/wire/fabrics/discovery_header.hpp>

#include <vector>

namespace gnstor::host::fabrics {

/// A subsystem that a discovery service knows.
struct discovered {
  std::string nqn;
  std::string transport;  ///< "rdma", "tcp", ...
  std::string address;
  std::string port;
  bool discovery = false;  ///< it is a discovery service itself

  /// One entry of the log page; blanks and zeroes at the ends of its texts are dropped.
  static discovered from(const wire::fabrics::discovery_entry& said);
};

/// The subsystems at `way` that this host may use: what the discovery service there lists. Throws
/// as `controller` does.
/// @param host_nqn, host_id as in `controller_options`
std::vector<discovered> discover(transport& way, const std::string& host_nqn = {},
                                 const std::string& host_id = {},
                                 std::chrono::milliseconds timeout = std::chrono::seconds(5));

}  // namespace gnstor::host::fabrics
