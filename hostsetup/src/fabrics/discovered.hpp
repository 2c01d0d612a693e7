#pragma once

#include <gnstor/wire/fabrics/discovery_header.hpp>

#include <string>

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

}  // namespace gnstor::host::fabrics
