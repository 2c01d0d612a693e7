#include "listener.hpp"

#include "words.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

namespace gnstor::host::verbs {

incoming::incoming(cm_event request) : request_(std::move(request)) {}
incoming::incoming(incoming&& other) noexcept : request_(std::move(other.request_)) {
  other.request_.id = nullptr;
}
incoming& incoming::operator=(incoming&& other) noexcept {
  std::swap(request_, other.request_);
  return *this;
}
incoming::~incoming() { drop(); }

void incoming::drop() noexcept {
  if (request_.id == nullptr) return;
  (void)rdma_reject(request_.id, nullptr, 0);
  (void)rdma_destroy_id(std::exchange(request_.id, nullptr));
}

net_address incoming::peer() const { return net_address::from(*rdma_get_peer_addr(request_.id)); }
verbs::device incoming::device() const {
  return verbs::device::at(*rdma_get_local_addr(request_.id));
}

connection incoming::prepare(const protection_domain& domain,
                             const connection_options& options) && {
  return connection::prepare(domain, request_.id, request_, options);
}

void incoming::reject(std::span<const unsigned char> private_data) && {
  (void)rdma_reject(request_.id, private_data.data(),
                    static_cast<std::uint8_t>(private_data.size()));
  (void)rdma_destroy_id(std::exchange(request_.id, nullptr));
}

listener::listener(const net_address& here, int backlog) {
  sockaddr_storage address = here.resolve();
  if (rdma_create_id(events_.get(), &id_, nullptr, RDMA_PS_TCP) != 0) {
    throw call_error("listening on " + here.text(), errno);
  }
  const bool bound = rdma_bind_addr(id_, reinterpret_cast<sockaddr*>(&address)) == 0;
  if (!bound || rdma_listen(id_, backlog) != 0) {
    const int why = errno;
    (void)rdma_destroy_id(std::exchange(id_, nullptr));
    if (why == EADDRINUSE) {
      throw connect_error(connect_failure::bad_address,
                          fmt::format("listening on {}: another program listens there; stop it or "
                                      "use another port",
                                      here.text()));
    }
    if (why == EADDRNOTAVAIL || why == ENODEV) {
      throw connect_error(connect_failure::no_rdma,
                          fmt::format("listening on {}: not an address of an RDMA device here; "
                                      "`rdma link` lists devices and interfaces",
                                      here.text()));
    }
    throw call_error("listening on " + here.text(), why);
  }
}

listener::listener(listener&& other) noexcept
    : events_(std::move(other.events_)), id_(std::exchange(other.id_, nullptr)) {}

listener& listener::operator=(listener&& other) noexcept {
  std::swap(events_, other.events_);
  std::swap(id_, other.id_);
  return *this;
}

listener::~listener() {
  if (id_ != nullptr) (void)rdma_destroy_id(id_);
}

std::uint16_t listener::port() const { return ntohs(rdma_get_src_port(id_)); }

std::optional<incoming> listener::next(std::chrono::milliseconds timeout) const {
  std::optional<cm_event> event = events_.next(timeout);
  // Other events concern requests that were given up before they were prepared.
  if (!event || event->type != RDMA_CM_EVENT_CONNECT_REQUEST) return std::nullopt;
  return incoming(std::move(*event));
}

}  // namespace gnstor::host::verbs
