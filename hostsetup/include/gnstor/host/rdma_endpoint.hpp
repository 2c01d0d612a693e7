#pragma once

#include <cstdint>
#include <string>

namespace gnstor::host {

/// What an `rdma://` endpoint names: an NVMe over Fabrics subsystem behind RDMA.
///
/// `rdma://HOST[:PORT]/NQN?name=value&...`; an IPv6 address stands in brackets. Options: nsid,
/// queues, host_nqn, host_id (a UUID), keep_alive_ms, loss_timeout_ms, scratch (yes, no).
struct rdma_endpoint {
  std::string host;
  std::uint16_t port = 4420;
  std::string subsystem;     ///< NQN; empty: the session says which there are, and ends
  std::uint32_t nsid = 0;    ///< the only namespace wanted; 0: all
  std::uint32_t queues = 0;  ///< I/O queues wanted; 0: one for each channel of the session
  std::string host_nqn;      ///< empty: by the session's host name if that is set, else this
                             ///< machine's
  std::string host_id;       ///< likewise
  std::uint32_t keep_alive_ms = 10'000;    ///< the target's patience without a sign of life
  std::uint32_t loss_timeout_ms = 60'000;  ///< how long a lost association is tried again
  /// Plain namespaces are there to be overwritten: `session::create_volume` takes the next one that
  /// is large enough, with whatever bytes are on it, and `delete_volume` gives it back.
  bool scratch = false;
};

}  // namespace gnstor::host
