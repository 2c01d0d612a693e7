#pragma once

#include "connected_queue.hpp"
#include "fabrics/transport.hpp"

#include <mutex>

namespace gnstor::host::mlx5 {

/// A queue of the NIC's own as its controller sees it.
///
/// The controller asks `ended` many times a second: that is who watches the connection, and has the
/// NIC flush the queue when the peer has gone.
class nic_link final : public fabrics::queue_link {
 public:
  explicit nic_link(connected_queue joined) : queue_(std::move(joined)) {}

  nic_queue_pair ref() const { return queue_.ref(); }
  /// Both may be called from any thread. A system call each.
  bool ended() const override;
  void disconnect() override;

 private:
  mutable std::mutex use_;
  mutable connected_queue queue_;
  mutable bool ended_ = false;
};

}  // namespace gnstor::host::mlx5
