#pragma once

#include <gnstor/channel/remote_channel.hpp>
#include <link/restart_channel.hpp>

#include <chrono>
#include <functional>

namespace gnstor::host::fabrics {

/// Has the lanes' device take one step of a channel's reset. Throws `io_error` if it fails.
using restart_lanes = std::function<void(restart_step, const connect_options&)>;

/// One I/O queue of a link to a target, whoever drives it: what the link needs to hand it to lanes
/// and to make it again. `io_channel` is driven by a CPU thread, `mlx5::nic_channel` by its lanes.
class io_queue {
 public:
  io_queue() = default;
  io_queue(const io_queue&) = delete;
  io_queue& operator=(const io_queue&) = delete;
  virtual ~io_queue() = default;

  /// The channel for any number of lanes; another one after `reopen`.
  virtual remote_channel channel() const = 0;
  /// True if the queue takes no requests any more. @par Callers not for every request
  virtual bool ended() const = 0;
  /// Ends the queue for good: what is in flight comes back flushed. @par Callers any thread
  virtual void end() = 0;
  /// Grows when the queue was made again and nothing of what it sent before is under way:
  /// `controller::fresh_starts`. @par Callers those of `reopen`
  virtual std::uint64_t fresh_starts() const = 0;
  /// Makes an ended queue again, with empty counters: waits for the controller at most `timeout`.
  /// Throws `io_error` if it does not come back. @par Callers while no lane uses the channel
  virtual void reopen(std::chrono::milliseconds timeout) = 0;
  /// True if `reopen` would not wait. Throws `io_error` once the controller has given up.
  virtual bool may_reopen() const = 0;
  /// True if an ended queue can be made again while lanes use its channel, and may be now: nothing
  /// of what it sent is under way. Throws as `may_reopen`.
  virtual bool may_restart() const { return false; }
  /// Does that: the channel is ready again. Throws `io_error`; it may be tried again when
  /// `may_restart`.
  virtual void restart(const restart_lanes& lanes, deadline d) {
    static_cast<void>(lanes);
    static_cast<void>(d);
  }
};

}  // namespace gnstor::host::fabrics
