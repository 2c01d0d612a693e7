#include "device.hpp"

#include "event_channel.hpp"
#include "words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace gnstor::host::verbs {

/// An id of the connection manager that is bound to the device: as long as it exists, so does the
/// open device.
struct device::holder {
  event_channel events;
  rdma_cm_id* id = nullptr;

  explicit holder(const std::string& peer) {
    if (rdma_create_id(events.get(), &id, nullptr, RDMA_PS_TCP) != 0) {
      throw call_error(fmt::format("looking for the way to {}", peer), errno);
    }
  }
  holder(const holder&) = delete;
  ~holder() {
    if (id != nullptr) rdma_destroy_id(id);
  }
};

device::device(std::shared_ptr<holder> h) : holder_(std::move(h)), context_(holder_->id->verbs) {}

device device::towards(const net_address& peer, std::chrono::milliseconds timeout) {
  sockaddr_storage address = peer.resolve();
  auto h = std::make_shared<holder>(peer.text());
  if (rdma_resolve_addr(h->id, nullptr, reinterpret_cast<sockaddr*>(&address),
                        static_cast<int>(timeout.count())) != 0) {
    throw event_error(peer.text(), RDMA_CM_EVENT_ADDR_ERROR, -errno, {});
  }
  const auto event = h->events.next(timeout);
  if (!event) {
    throw connect_error(
        connect_failure::timed_out,
        fmt::format("connecting to {}: the address was not resolved within {} ms; check that the "
                    "machine is up",
                    peer.text(), timeout.count()));
  }
  if (event->type != RDMA_CM_EVENT_ADDR_RESOLVED || h->id->verbs == nullptr) {
    throw event_error(peer.text(), event->type, event->status, event->private_data);
  }
  return device(std::move(h));
}

device device::at(const sockaddr& here) {
  sockaddr_storage address{};
  const auto bytes = here.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  std::copy_n(reinterpret_cast<const char*>(&here), bytes, reinterpret_cast<char*>(&address));
  reinterpret_cast<sockaddr_in&>(address).sin_port = 0;  // at the same offset for IPv6
  const std::string text = net_address::from(here).host;
  auto h = std::make_shared<holder>(text);
  if (rdma_bind_addr(h->id, reinterpret_cast<sockaddr*>(&address)) != 0 ||
      h->id->verbs == nullptr) {
    throw connect_error(
        connect_failure::no_rdma,
        fmt::format("{} is not an address of an RDMA device here: `rdma link` lists devices and "
                    "interfaces",
                    text));
  }
  return device(std::move(h));
}

std::string device::name() const { return ibv_get_device_name(context_->device); }

ibv_device_attr device::limits() const {
  ibv_device_attr attributes{};
  if (const int outcome = ibv_query_device(context_, &attributes); outcome != 0) {
    throw call_error(fmt::format("asking {} for its limits", name()), outcome);
  }
  return attributes;
}

}  // namespace gnstor::host::verbs
