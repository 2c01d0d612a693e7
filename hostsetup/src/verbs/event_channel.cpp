#include "event_channel.hpp"

#include "words.hpp"

#include <poll.h>

#include <cerrno>
#include <utility>

namespace gnstor::host::verbs {

event_channel::event_channel() : channel_(rdma_create_event_channel()) {
  if (channel_ == nullptr) throw call_error("opening the RDMA connection manager", errno);
}

event_channel::event_channel(event_channel&& other) noexcept
    : channel_(std::exchange(other.channel_, nullptr)) {}

event_channel& event_channel::operator=(event_channel&& other) noexcept {
  std::swap(channel_, other.channel_);
  return *this;
}

event_channel::~event_channel() {
  if (channel_ != nullptr) rdma_destroy_event_channel(channel_);
}

std::optional<cm_event> event_channel::next(std::chrono::milliseconds timeout) const {
  using clock = std::chrono::steady_clock;
  const auto end = clock::now() + timeout;
  pollfd readable{channel_->fd, POLLIN, 0};
  int outcome = -1;
  for (bool again = true; again;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now()).count();
    outcome = ::poll(&readable, 1, left > 0 ? static_cast<int>(left) : 0);
    again = outcome < 0 && errno == EINTR;
  }
  if (outcome == 0) return std::nullopt;
  rdma_cm_event* event = nullptr;
  if (outcome < 0 || rdma_get_cm_event(channel_, &event) != 0) {
    throw call_error("reading an event of the RDMA connection manager", errno);
  }
  cm_event copy;
  copy.type = event->event;
  copy.status = event->status;
  copy.id = event->id;
  const auto* data = static_cast<const unsigned char*>(event->param.conn.private_data);
  if (data != nullptr) copy.private_data.assign(data, data + event->param.conn.private_data_len);
  copy.responder_resources = event->param.conn.responder_resources;
  copy.initiator_depth = event->param.conn.initiator_depth;
  rdma_ack_cm_event(event);
  return copy;
}

}  // namespace gnstor::host::verbs
