#pragma once

#include "io_queue.hpp"
#include "queue_slot.hpp"

namespace gnstor::host::fabrics {

/// Owns one I/O queue of a controller that a CPU thread drives, the proxy, and the channel that
/// lanes use it through, in memory of this CPU.
///
/// Kernels run by the host executor take `ref()`, and so does this CPU. When the association is
/// lost, its requests end with `flushed`; `reopen` makes it usable again.
class io_channel final : public io_queue {
 public:
  /// Joins a queue and sends Connect. Throws as `controller` does. The controller outlives it.
  /// @param where memory that this CPU and the lanes reach: `pinned` for lanes on a GPU
  /// @param asynchronous `session_options::asynchronous`
  explicit io_channel(controller& of, place where = place::host, bool asynchronous = false);

  /// The channel, for any number of lanes.
  proxy_channel ref() const { return channel_; }
  remote_channel channel() const override {
    return remote_channel(any_queue_pair(channel_.queue()), &channel_.counters(), asynchronous_);
  }
  std::uint16_t queue_id() const { return slot_.queue_id(); }
  std::uint32_t depth() const { return depth_; }
  bool ended() const override { return slot_.ended(); }
  void end() override { slot_.end(); }
  std::uint64_t fresh_starts() const override { return slot_.fresh_starts(); }
  void reopen(std::chrono::milliseconds timeout) override;
  bool may_reopen() const override { return slot_.may_renew(); }
  bool may_restart() const override { return slot_.may_resume(); }
  void restart(const restart_lanes& lanes, deadline d) override;

 private:
  void open();
  io_buffer write_connect_data() const;

  std::uint32_t depth_;
  bool asynchronous_;
  memory_block memory_;  ///< queue, channel state, connect data
  std::unique_ptr<registered_memory> registered_;
  proxy_channel channel_;
  queue_slot slot_;
};

}  // namespace gnstor::host::fabrics
