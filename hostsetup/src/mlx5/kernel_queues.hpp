#pragma once

#include "nic_channel.hpp"
#include "nic_transport.hpp"
#include <gnstor/host/rdma_endpoint.hpp>

#include <vector>

namespace gnstor::host::mlx5 {

/// Which queues the kernels of a session want.
struct kernel_queues_wanted {
  transport_kind transport = transport_kind::automatic;
  std::uint32_t count = 0;          ///< as many as the controller has left, or fewer
  place proxy_reach = place::host;  ///< memory that kernels and this CPU reach
  bool asynchronous = false;        ///< `session_options::asynchronous`
  /// The lanes that would use the NIC's queues. Throws `error` if there can be none.
  std::function<queue_lanes()> lanes;
};

/// The I/O queues of a session's kernels: all of them the NIC's own, or all the proxy's.
struct kernel_queues {
  std::vector<std::unique_ptr<fabrics::io_queue>> queues;
  /// The lanes of the NIC's own queues; without a home where the queues are the proxy's.
  queue_lanes lanes;
  std::string note;  ///< why the proxy was taken though it was not asked for; empty otherwise

  /// Makes them as wanted: with `automatic`, whatever step fails on the way to the NIC's own queues
  /// leaves nothing behind, and the proxy's are made. Throws `error`: with `nic` the step that
  /// failed, its cause and its remedy; else why the target could not be joined.
  /// @param way the controller's transport; both outlive the queues
  static kernel_queues make(fabrics::controller& of, nic_transport& way,
                            const kernel_queues_wanted& wanted);
};

}  // namespace gnstor::host::mlx5
