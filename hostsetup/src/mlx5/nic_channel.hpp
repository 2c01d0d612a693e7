#pragma once

#include "fabrics/io_queue.hpp"
#include "fabrics/queue_slot.hpp"
#include "queue_block.hpp"
#include <link/connect_channels.hpp>

#include <functional>

namespace gnstor::host::mlx5 {

/// The lanes that use queues of a NIC: where they find memory, and how they are sent to connect.
struct queue_lanes {
  std::shared_ptr<memory_home> home;  ///< of queues, and of data that the target moves
  place reach = place::host;          ///< of the channels' other words: `device` for a GPU's lanes
  int device = 0;                     ///< which GPU, if it is one
  bool asynchronous = false;          ///< `session_options::asynchronous`
  /// Has one lane connect each channel within so many nanoseconds: `connect_channels`.
  std::function<void(const channel_outcomes&, const connect_options&, std::uint64_t)> connect;
};

/// Owns one I/O queue of a controller that its lanes drive themselves: they ring the NIC's doorbell
/// and read its completions.
///
/// The host joins the queue; a lane sends Connect. When the association is lost, requests end with
/// `flushed`; `reopen` makes the queue again in the same memory.
class nic_channel final : public fabrics::io_queue {
 public:
  /// Joins queue `index` of `block` and connects it. The controller outlives it, and its transport
  /// is the `nic_transport` that made the block. Throws `error`: the step, the cause, the remedy.
  nic_channel(fabrics::controller& of, std::shared_ptr<const queue_block> block,
              std::uint32_t index, const queue_lanes& lanes);

  remote_channel channel() const override;
  /// Also true if the NIC broke the queue off, of which the connection manager knows nothing.
  bool ended() const override;
  void end() override { slot_.end(); }
  std::uint64_t fresh_starts() const override { return slot_.fresh_starts(); }
  void reopen(std::chrono::milliseconds timeout) override;
  bool may_reopen() const override { return slot_.may_renew(); }

 private:
  void open();
  status connect();

  std::shared_ptr<const queue_block> block_;
  std::uint32_t index_;
  queue_lanes lanes_;
  memory_block words_;  ///< channel state and request table, the channel, the outcome of connecting
  memory_block data_;   ///< of Connect
  std::unique_ptr<fabrics::registered_memory> registered_;
  std::optional<nic_queue_pair> queue_;  ///< there is one from the first `open` on
  fabrics::queue_slot slot_;
};

}  // namespace gnstor::host::mlx5
