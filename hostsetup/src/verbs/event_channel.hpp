#pragma once

#include <rdma/rdma_cma.h>

#include <chrono>
#include <optional>
#include <vector>

namespace gnstor::host::verbs {

/// One event of the connection manager, copied and acknowledged.
struct cm_event {
  rdma_cm_event_type type{};
  int status = 0;
  rdma_cm_id* id = nullptr;
  std::vector<unsigned char> private_data;
  std::uint8_t responder_resources = 0;  ///< of a request: reads the peer wants to have in flight
  std::uint8_t initiator_depth = 0;
};

/// Owns an event channel of the connection manager; every wait has a bound. Move-only.
class event_channel {
 public:
  /// Throws `connect_error` where the RDMA modules or the permission for them are missing.
  event_channel();
  event_channel(event_channel&& other) noexcept;
  event_channel& operator=(event_channel&& other) noexcept;
  ~event_channel();

  rdma_event_channel* get() const { return channel_; }
  int fd() const { return channel_->fd; }
  /// The next event, or nothing within `timeout`.
  std::optional<cm_event> next(std::chrono::milliseconds timeout) const;

 private:
  rdma_event_channel* channel_ = nullptr;
};

}  // namespace gnstor::host::verbs
