#pragma once

#include <gnstor/memory/io_buffer.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace gnstor::host::fabrics {

/// Memory that the target may read and write while this exists.
struct registered_memory {
  virtual ~registered_memory() = default;
  io_buffer buffer;
};

/// What a queue asks of its connection.
struct queue_request {
  unsigned char* memory = nullptr;  ///< shared part of `proxy_queue_layout::of(depth)`, zero-filled
  std::uint32_t depth = 0;
  std::uint16_t queue_id = 0;    ///< 0 is the admin queue
  std::uint32_t entries = 0;     ///< slots of the submission queue, as Connect will say
  std::uint16_t controller = 0;  ///< that an I/O queue joins
};

/// One queue joined to the target: what a proxy queue pair's requests go through.
class queue_link {
 public:
  virtual ~queue_link() = default;
  /// True once the connection has ended, whoever ended it. @par Callers any thread
  virtual bool ended() const = 0;
  /// Ends the connection: what is in flight comes back flushed. @par Callers any thread
  virtual void disconnect() = 0;
};

/// One that may be joined again, while lanes use its queue.
class restartable_link : public queue_link {
 public:
  /// Serves the lanes no more, and forgets what they have written up to request `end`. False if one
  /// of these is not written yet: to be called again. The connection has ended.
  virtual bool discard(std::uint64_t end) = 0;
  /// After that: they go on at request `next`, and have written none from there on yet.
  virtual void skip_to(std::uint64_t next) = 0;
  /// Joins the target by another connection, and serves the lanes from there on. Throws
  /// `verbs::connect_error` that says why it could not: then it serves nobody.
  /// @par Callers after `skip_to`; nobody asks meanwhile whether it has ended
  virtual void restart(const queue_request& request, std::chrono::milliseconds timeout) = 0;
};

/// The way to one target. Implemented over RDMA, and by a scripted target in the tests.
class transport {
 public:
  virtual ~transport() = default;
  /// The target's address, for messages.
  virtual std::string peer() const = 0;
  virtual std::unique_ptr<registered_memory> register_memory(void* address,
                                                             std::uint64_t bytes) = 0;
  /// Joins a queue. Throws `verbs::connect_error` that says why it could not. May be a
  /// `restartable_link`.
  virtual std::unique_ptr<queue_link> open(const queue_request& request,
                                           std::chrono::milliseconds timeout) = 0;
};

}  // namespace gnstor::host::fabrics
