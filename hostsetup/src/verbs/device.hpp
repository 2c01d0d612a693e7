#pragma once

#include "net_address.hpp"

#include <infiniband/verbs.h>

#include <chrono>
#include <memory>
#include <string>

namespace gnstor::host::verbs {

/// An RDMA device as the connection manager has opened it. A shared handle: the device stays open
/// while a copy exists.
///
/// Queue pairs that the connection manager joins must lie on its own open device, so that a device
/// is found by address and not by name.
class device {
 public:
  /// The device through which `peer` is reached. Throws `connect_error`.
  static device towards(const net_address& peer, std::chrono::milliseconds timeout);
  /// The device that has the local address `here`. Throws `connect_error`.
  static device at(const sockaddr& here);

  ibv_context* context() const { return context_; }
  std::string name() const;
  /// What the device can do at most.
  ibv_device_attr limits() const;

 private:
  struct holder;
  explicit device(std::shared_ptr<holder> h);
  std::shared_ptr<holder> holder_;
  ibv_context* context_ = nullptr;
};

}  // namespace gnstor::host::verbs
