#pragma once

#include "controller.hpp"

namespace gnstor::host::fabrics {

/// Owns one I/O queue of a controller and the channel that lanes use it through, in memory of this
/// CPU.
///
/// Kernels run by the host executor take `ref()`, and so does this CPU. When the association is
/// lost, its requests end with `flushed`; `reopen` makes it usable again.
class io_channel {
 public:
  /// Joins a queue and sends Connect. Throws as `controller` does. The controller outlives it.
  /// @param where memory that this CPU and the lanes reach: `pinned` for lanes on a GPU
  explicit io_channel(controller& of, place where = place::host);
  ~io_channel();
  io_channel(const io_channel&) = delete;
  io_channel& operator=(const io_channel&) = delete;

  /// The channel, for any number of lanes.
  proxy_channel ref() const { return channel_; }
  std::uint16_t queue_id() const { return queue_id_; }
  std::uint32_t depth() const { return depth_; }
  /// True if the queue has ended.
  bool ended() const { return link_ == nullptr || link_->ended(); }
  /// Ends the queue for good: what is in flight comes back flushed. @par Callers any thread
  void end() {
    if (link_ != nullptr) link_->disconnect();
  }
  /// Makes an ended queue again, with empty counters: waits for the controller at most `timeout`.
  /// Throws `io_error` if it does not come back. @par Callers while no lane uses the channel
  void reopen(std::chrono::milliseconds timeout);

 private:
  void open();

  controller& controller_;
  std::uint32_t depth_;
  std::uint16_t queue_id_;
  std::uint64_t association_ = 0;  ///< of which the queue is
  memory_block memory_;            ///< queue, channel state, connect data
  std::unique_ptr<registered_memory> registered_;
  controller::link_handle link_;
  proxy_channel channel_;
};

}  // namespace gnstor::host::fabrics
