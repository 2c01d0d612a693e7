#pragma once

#include <cstdint>
#include <string>

namespace gnstor::host {

/// Who hands the requests of kernels to an RDMA device.
enum class transport_kind {
  automatic,  ///< the kernels themselves where everything for it is there, else the proxy
  nic,        ///< the kernels: they ring a ConnectX's doorbell; an error where they cannot
  proxy,      ///< a CPU thread, on any RDMA device
};

/// What an `rdma://` endpoint names: an NVMe over Fabrics subsystem behind RDMA.
///
/// `rdma://HOST[:PORT]/NQN?name=value&...`; an IPv6 address stands in brackets. Its options are the
/// members below.
struct rdma_endpoint {
  std::string host;
  std::uint16_t port = 4420;
  std::string subsystem;     ///< NQN; empty: the session says which there are, and ends
  std::uint32_t nsid = 0;    ///< the only namespace wanted; 0: all
  std::uint32_t queues = 0;  ///< I/O queues wanted; 0: one for each channel of the session
  std::string host_nqn;      ///< empty: by the session's host name if that is set, else this
                             ///< machine's
  std::string host_id;       ///< likewise
  /// Patience of the target, and of this host, without a sign of life; one is asked for twice in
  /// that time, so a dead link that no device reports is noticed within one and a half times it. 0:
  /// never.
  std::uint32_t keep_alive_ms = 10'000;
  std::uint32_t loss_timeout_ms = 60'000;  ///< how long a lost association is tried again
  /// `session::notes()` says why the proxy was taken where it was not asked for.
  transport_kind transport = transport_kind::automatic;
  /// responses=cqe: on the NIC's own queues a response comes inside its completion, one read of
  /// GPU memory less. Never run on hardware.
  bool scatter_responses = false;
  /// Plain namespaces are there to be overwritten: `session::create_volume` takes the next one that
  /// is large enough, with whatever bytes are on it, and `delete_volume` gives it back.
  bool scratch = false;
};

}  // namespace gnstor::host
