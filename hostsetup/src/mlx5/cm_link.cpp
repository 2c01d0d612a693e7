#include "cm_link.hpp"

#include "verbs/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace gnstor::host::mlx5 {
namespace {

using std::chrono::milliseconds;

constexpr std::uint8_t most_retries = 7;  ///< of a lost packet; for a peer without receives, no end

milliseconds left(cm_link::clock::time_point end) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(end - cm_link::clock::now()));
}

}  // namespace

cm_link::cm_link(const verbs::device& through, const verbs::net_address& peer,
                 clock::time_point end)
    : peer_(peer.text()) {
  sockaddr_storage address = peer.resolve();
  if (rdma_create_id(events_.get(), &id_, nullptr, RDMA_PS_TCP) != 0) {
    throw verbs::call_error("connecting to " + peer_, errno);
  }
  try {
    if (rdma_resolve_addr(id_, nullptr, reinterpret_cast<sockaddr*>(&address),
                          static_cast<int>(left(end).count())) != 0) {
      throw verbs::event_error(peer_, RDMA_CM_EVENT_ADDR_ERROR, -errno, {});
    }
    (void)expect(RDMA_CM_EVENT_ADDR_RESOLVED, end, "resolving the address");
    if (rdma_resolve_route(id_, static_cast<int>(left(end).count())) != 0) {
      throw verbs::event_error(peer_, RDMA_CM_EVENT_ROUTE_ERROR, -errno, {});
    }
    (void)expect(RDMA_CM_EVENT_ROUTE_RESOLVED, end, "resolving the route");
    if (id_->verbs != through.context()) {
      throw verbs::connect_error(
          verbs::connect_failure::unreachable,
          fmt::format("{} is not reached through {}, where the queues lie: open the device towards "
                      "this address",
                      peer_, through.name()));
    }
  } catch (...) {
    (void)rdma_destroy_id(id_);
    throw;
  }
}

cm_link::cm_link(cm_link&& other) noexcept
    : events_(std::move(other.events_)),
      id_(std::exchange(other.id_, nullptr)),
      peer_(std::move(other.peer_)),
      joined_(other.joined_),
      ended_(other.ended_) {}

cm_link& cm_link::operator=(cm_link&& other) noexcept {
  std::swap(events_, other.events_);
  std::swap(id_, other.id_);
  std::swap(peer_, other.peer_);
  std::swap(joined_, other.joined_);
  std::swap(ended_, other.ended_);
  return *this;
}

cm_link::~cm_link() {
  if (id_ == nullptr) return;
  disconnect();
  (void)rdma_destroy_id(id_);
}

verbs::cm_event cm_link::expect(rdma_cm_event_type wanted, clock::time_point end,
                                const char* doing) const {
  std::optional<verbs::cm_event> event = events_.next(left(end));
  if (!event) {
    throw verbs::connect_error(
        verbs::connect_failure::timed_out,
        fmt::format("connecting to {}: no answer in time while {}; check that the machine is up "
                    "and serves RDMA there",
                    peer_, doing));
  }
  if (event->type != wanted) {
    throw verbs::event_error(peer_, event->type, event->status, event->private_data);
  }
  return std::move(*event);
}

std::vector<unsigned char> cm_link::ask(std::uint32_t number,
                                        std::span<const unsigned char> private_data,
                                        std::uint8_t reads, clock::time_point end) {
  rdma_conn_param wanted{};
  wanted.private_data = private_data.data();
  wanted.private_data_len = static_cast<std::uint8_t>(private_data.size());
  wanted.responder_resources = reads;
  wanted.initiator_depth = 0;
  wanted.flow_control = 1;
  wanted.retry_count = most_retries;
  wanted.rnr_retry_count = most_retries;
  wanted.qp_num = number;
  if (rdma_connect(id_, &wanted) != 0) throw verbs::call_error("connecting to " + peer_, errno);
  // An id without a queue pair hears of the peer's yes and leaves the rest to its owner.
  return expect(RDMA_CM_EVENT_CONNECT_RESPONSE, end, "waiting for the peer to accept").private_data;
}

ibv_qp_attr cm_link::attributes(ibv_qp_state state) const {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  int mask = 0;
  if (rdma_init_qp_attr(id_, &attributes, &mask) != 0) {
    throw verbs::call_error(fmt::format("asking for the attributes of the connection to {}", peer_),
                            errno);
  }
  return attributes;
}

void cm_link::establish() {
  if (rdma_establish(id_) != 0) {
    throw verbs::call_error("completing the connection to " + peer_, errno);
  }
  joined_ = true;
}

bool cm_link::ended() {
  for (int most = 64; most > 0 && !ended_; --most) {
    const std::optional<verbs::cm_event> event = events_.next(milliseconds(0));
    if (!event) break;
    switch (event->type) {
      case RDMA_CM_EVENT_DISCONNECTED:
      case RDMA_CM_EVENT_DEVICE_REMOVAL:
      case RDMA_CM_EVENT_REJECTED:
      case RDMA_CM_EVENT_CONNECT_ERROR:
      case RDMA_CM_EVENT_UNREACHABLE: disconnect(); break;
      default: break;
    }
  }
  return ended_;
}

void cm_link::disconnect() noexcept {
  if (joined_ && !std::exchange(ended_, true)) (void)rdma_disconnect(id_);
}

}  // namespace gnstor::host::mlx5
