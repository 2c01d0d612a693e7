#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

namespace gnstor::host::verbs {

/// Where an RDMA service listens: a host name or an IPv4 or IPv6 address, and a port.
struct net_address {
  std::string host;
  std::uint16_t port = 4420;

  /// "10.0.0.1:4420", "[fe80::1]:4420".
  std::string text() const;
  /// As the RDMA connection manager wants it. Throws `connect_error` if the name is unknown.
  sockaddr_storage resolve() const;
  /// The address and port in a socket address.
  static net_address from(const sockaddr& address);
};

}  // namespace gnstor::host::verbs
