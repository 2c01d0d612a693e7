#pragma once

#include "connection.hpp"

namespace gnstor::host::verbs {

/// A peer that wants to be connected. Reject it, or prepare a connection and accept that; dropping
/// it rejects it. Move-only.
class incoming {
 public:
  explicit incoming(cm_event request);
  incoming(incoming&& other) noexcept;
  incoming& operator=(incoming&& other) noexcept;
  ~incoming();

  /// True until the request was answered, or a connection owns it.
  explicit operator bool() const { return request_.id != nullptr; }
  const std::vector<unsigned char>& private_data() const { return request_.private_data; }
  std::uint8_t responder_resources() const { return request_.responder_resources; }
  std::uint8_t initiator_depth() const { return request_.initiator_depth; }
  net_address peer() const;
  /// The device on which the request came: connections for it need a protection domain there.
  verbs::device device() const;
  ibv_context* context() const { return request_.id->verbs; }

  /// A queue pair for the request, not joined yet: post receives, then `accept`.
  connection prepare(const protection_domain& domain, const connection_options& options) &&;
  void reject(std::span<const unsigned char> private_data) &&;

 private:
  void drop() noexcept;
  cm_event request_;
};

/// Owns a listening end of the connection manager. Move-only.
class listener {
 public:
  /// @param here the local address; "0.0.0.0" or "::" for all; port 0 for any free one
  explicit listener(const net_address& here, int backlog = 128);
  listener(listener&& other) noexcept;
  listener& operator=(listener&& other) noexcept;
  ~listener();

  /// The port listened on.
  std::uint16_t port() const;
  int fd() const { return events_.fd(); }
  /// The next peer, or nothing within `timeout`.
  std::optional<incoming> next(std::chrono::milliseconds timeout) const;

 private:
  event_channel events_;
  rdma_cm_id* id_ = nullptr;
};

}  // namespace gnstor::host::verbs
