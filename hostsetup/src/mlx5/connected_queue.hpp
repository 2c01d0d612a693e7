#pragma once

#include "queue_block.hpp"
#include <gnstor/qp/nic_queue_pair.hpp>

#include <chrono>

namespace gnstor::host::mlx5 {

/// Which queue of which controller a connection is to become. NVMe RDMA Transport 1.1, "REQ private
/// data".
struct fabric_queue {
  std::uint16_t queue_id = 0;       ///< 0 is the admin queue
  std::uint16_t controller_id = 0;  ///< whose I/O queue it is; 0 for an admin queue
  std::uint8_t reads = 16;          ///< RDMA READs of the target served at once, at most the NIC's
  bool scatter = false;             ///< responses come inside their completions
};

/// Owns one queue pair of a ConnectX, in the memory of a home and joined to an NVMe-oF target: what
/// the home's lanes use through `ref()`. Move-only.
///
/// This side makes the queue pair by DevX and moves it from state to state; the connection manager
/// carries the messages. Nobody else watches the connection: call `alive` now and then, so that
/// lanes learn of a peer that has gone.
class connected_queue {
 public:
  /// Joins queue `index` of `block`; no other connection may have it at the time. Throws `error`:
  /// the step, the cause and the remedy.
  connected_queue(std::shared_ptr<const queue_block> block, std::uint32_t index,
                  const verbs::net_address& peer, const fabric_queue& as,
                  std::chrono::milliseconds timeout);
  connected_queue(connected_queue&& other) noexcept;
  connected_queue& operator=(connected_queue&& other) noexcept;
  /// Disconnects; afterwards the peer reaches no memory and lanes must not use the queue.
  ~connected_queue();

  /// For the home's lanes. Its receives are posted by whoever connects the channel.
  nic_queue_pair ref() const;
  /// Receives of the target's side: the most commands it takes at once.
  std::uint16_t target_receives() const;
  /// False once the connection has ended. The first to notice has the NIC flush what is posted. A
  /// system call: not for every request.
  bool alive();
  /// Ends the connection: everything posted comes back flushed.
  void disconnect();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace gnstor::host::mlx5
