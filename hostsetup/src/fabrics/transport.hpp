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

/// One queue joined to the target: what a proxy queue pair's requests go through.
class queue_link {
 public:
  virtual ~queue_link() = default;
  /// True once the connection has ended, whoever ended it. @par Callers any thread
  virtual bool ended() const = 0;
  /// Ends the connection: what is in flight comes back flushed. @par Callers any thread
  virtual void disconnect() = 0;
};

/// What a queue asks of its connection.
struct queue_request {
  unsigned char* memory = nullptr;  ///< shared part of `proxy_queue_layout::of(depth)`, zero-filled
  std::uint32_t depth = 0;
  std::uint16_t queue_id = 0;    ///< 0 is the admin queue
  std::uint32_t entries = 0;     ///< slots of the submission queue, as Connect will say
  std::uint16_t controller = 0;  ///< that an I/O queue joins
};

/// The way to one target. Implemented over RDMA, and by a scripted target in the tests.
class transport {
 public:
  virtual ~transport() = default;
  /// The target's address, for messages.
  virtual std::string peer() const = 0;
  virtual std::unique_ptr<registered_memory> register_memory(void* address,
                                                             std::uint64_t bytes) = 0;
  /// Joins a queue. Throws `verbs::connect_error` that says why it could not.
  virtual std::unique_ptr<queue_link> open(const queue_request& request,
                                           std::chrono::milliseconds timeout) = 0;
};

}  // namespace gnstor::host::fabrics
