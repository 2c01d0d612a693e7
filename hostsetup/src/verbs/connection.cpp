#include "connection.hpp"

#include "words.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace gnstor::host::verbs {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Time left until `end`, never negative.
milliseconds left(clock::time_point end) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(end - clock::now()));
}

}  // namespace

struct connection::state {
  event_channel events;
  rdma_cm_id* id = nullptr;
  ibv_comp_channel* wakeups = nullptr;
  ibv_cq* cq = nullptr;
  std::string peer;
  std::uint32_t inline_bytes = 0;
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  connection_options options;
  std::vector<unsigned char> peer_data;
  std::atomic<bool> joined{false};
  std::atomic<bool> ended{false};

  state() = default;
  state(const state&) = delete;
  ~state() {
    if (id != nullptr && joined && !ended.exchange(true)) (void)rdma_disconnect(id);
    if (id != nullptr && id->qp != nullptr) rdma_destroy_qp(id);
    if (cq != nullptr) {
      drain();
      (void)ibv_destroy_cq(cq);
    }
    if (wakeups != nullptr) (void)ibv_destroy_comp_channel(wakeups);
    if (id != nullptr) (void)rdma_destroy_id(id);
  }

  /// Takes the completion channel's events that are there; each must be acknowledged.
  void drain() {
    for (pollfd readable{wakeups->fd, POLLIN, 0}; ::poll(&readable, 1, 0) == 1;) {
      ibv_cq* which = nullptr;
      void* context = nullptr;
      if (ibv_get_cq_event(wakeups, &which, &context) != 0) return;
      ibv_ack_cq_events(which, 1);
    }
  }

  /// The next event, which must be `wanted`.
  cm_event expect(rdma_cm_event_type wanted, clock::time_point end, const char* what) {
    std::optional<cm_event> event = events.next(left(end));
    if (!event) {
      throw connect_error(
          connect_failure::timed_out,
          fmt::format("connecting to {}: no answer in time while {}; check that the machine is up "
                      "and serves RDMA there",
                      peer, what));
    }
    if (event->type != wanted) {
      throw event_error(peer, event->type, event->status, event->private_data);
    }
    return std::move(*event);
  }

  void make_queue_pair(const protection_domain& domain, const connection_options& o) {
    options = o;
    ibv_context* on = domain.device().context();
    const std::string name = domain.device().name();
    if (id->verbs != on) {
      throw connect_error(
          connect_failure::unreachable,
          fmt::format("{} is reached through {}, but the memory is registered with {}: open the "
                      "device towards this address",
                      peer, id->verbs ? ibv_get_device_name(id->verbs->device) : "no device",
                      name));
    }
    const ibv_device_attr limits = domain.device().limits();
    responder_resources = static_cast<std::uint8_t>(
        std::clamp(limits.max_qp_rd_atom, 0, int{options.responder_resources}));
    initiator_depth = static_cast<std::uint8_t>(
        std::clamp(limits.max_qp_init_rd_atom, 0, int{options.initiator_depth}));
    wakeups = ibv_create_comp_channel(on);
    if (wakeups == nullptr) throw call_error("making a completion channel on " + name, errno);
    const auto entries = static_cast<int>(options.send_depth + options.receive_depth + 1);
    cq = ibv_create_cq(on, entries, nullptr, wakeups, 0);
    if (cq == nullptr) {
      throw call_error(fmt::format("making a completion queue of {} entries on {}", entries, name),
                       errno);
    }
    ibv_qp_init_attr wanted{};
    wanted.send_cq = cq;
    wanted.recv_cq = cq;
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap.max_send_wr = options.send_depth;
    wanted.cap.max_recv_wr = options.receive_depth;
    wanted.cap.max_send_sge = 1;
    wanted.cap.max_recv_sge = 1;
    wanted.cap.max_inline_data = options.inline_bytes;
    if (rdma_create_qp(id, domain.get(), &wanted) != 0) {
      wanted.cap.max_inline_data = 0;  // a device without inline data refuses instead of saying 0
      if (rdma_create_qp(id, domain.get(), &wanted) != 0) {
        throw call_error(
            fmt::format("making a queue pair of {} requests on {}", options.send_depth, name),
            errno);
      }
    }
    inline_bytes = wanted.cap.max_inline_data;
  }

  rdma_conn_param parameters(std::span<const unsigned char> private_data) const {
    rdma_conn_param p{};
    p.private_data = private_data.data();
    p.private_data_len = static_cast<std::uint8_t>(private_data.size());
    p.responder_resources = responder_resources;
    p.initiator_depth = initiator_depth;
    p.flow_control = 1;
    p.retry_count = options.retry_count;
    p.rnr_retry_count = options.rnr_retry_count;
    return p;
  }
};

connection::connection(std::unique_ptr<state> s) : state_(std::move(s)) {}
connection::connection() = default;
connection::connection(connection&& other) noexcept = default;
connection& connection::operator=(connection&& other) noexcept = default;
connection::~connection() = default;

connection connection::connect(const protection_domain& domain, const net_address& peer,
                               std::span<const unsigned char> private_data,
                               const connection_options& options, milliseconds timeout) {
  const auto end = clock::now() + timeout;
  auto s = std::make_unique<state>();
  s->peer = peer.text();
  sockaddr_storage address = peer.resolve();
  if (rdma_create_id(s->events.get(), &s->id, nullptr, RDMA_PS_TCP) != 0) {
    throw call_error("connecting to " + s->peer, errno);
  }
  if (rdma_resolve_addr(s->id, nullptr, reinterpret_cast<sockaddr*>(&address),
                        static_cast<int>(timeout.count())) != 0) {
    throw event_error(s->peer, RDMA_CM_EVENT_ADDR_ERROR, -errno, {});
  }
  (void)s->expect(RDMA_CM_EVENT_ADDR_RESOLVED, end, "resolving the address");
  if (rdma_resolve_route(s->id, static_cast<int>(left(end).count())) != 0) {
    throw event_error(s->peer, RDMA_CM_EVENT_ROUTE_ERROR, -errno, {});
  }
  (void)s->expect(RDMA_CM_EVENT_ROUTE_RESOLVED, end, "resolving the route");
  s->make_queue_pair(domain, options);
  rdma_conn_param wanted = s->parameters(private_data);
  if (rdma_connect(s->id, &wanted) != 0) throw call_error("connecting to " + s->peer, errno);
  cm_event accepted = s->expect(RDMA_CM_EVENT_ESTABLISHED, end, "waiting for the peer to accept");
  s->joined = true;
  s->peer_data = std::move(accepted.private_data);
  return connection(std::move(s));
}

connection connection::prepare(const protection_domain& domain, rdma_cm_id*& id,
                               const cm_event& request, const connection_options& options) {
  auto s = std::make_unique<state>();
  s->peer = net_address::from(*rdma_get_peer_addr(id)).text();
  s->id = std::exchange(id, nullptr);
  if (rdma_migrate_id(s->id, s->events.get()) != 0) throw call_error("serving " + s->peer, errno);
  s->make_queue_pair(domain, options);
  // Each side's reads are bounded by what the other side has room for. A request's event tells them
  // from this side's point of view: the connection manager has exchanged the two.
  s->responder_resources = std::min(s->responder_resources, request.responder_resources);
  s->initiator_depth = std::min(s->initiator_depth, request.initiator_depth);
  s->peer_data = request.private_data;
  return connection(std::move(s));
}

void connection::accept(std::span<const unsigned char> private_data, milliseconds timeout) {
  rdma_conn_param granted = state_->parameters(private_data);
  if (rdma_accept(state_->id, &granted) != 0) {
    throw call_error("accepting " + state_->peer, errno);
  }
  (void)state_->expect(RDMA_CM_EVENT_ESTABLISHED, clock::now() + timeout,
                       "waiting for the peer to confirm");
  state_->joined = true;
}

void connection::reject(std::span<const unsigned char> private_data) {
  (void)rdma_reject(state_->id, private_data.data(),
                    static_cast<std::uint8_t>(private_data.size()));
  state_->ended = true;
}

namespace {

ibv_wr_opcode opcode_of(work_kind kind) {
  switch (kind) {
    case work_kind::send: return IBV_WR_SEND;
    case work_kind::send_invalidate: return IBV_WR_SEND_WITH_INV;
    case work_kind::read: return IBV_WR_RDMA_READ;
    case work_kind::write: return IBV_WR_RDMA_WRITE;
  }
  return IBV_WR_SEND;
}

void fill(ibv_send_wr& request, ibv_sge& piece, const chained_work& c) {
  const work& w = c.what;
  piece = {w.address, w.bytes, w.lkey};
  request = {};
  request.wr_id = w.id;
  request.sg_list = &piece;
  request.num_sge = w.bytes == 0 ? 0 : 1;
  request.opcode = opcode_of(c.kind);
  request.send_flags = (w.signalled ? IBV_SEND_SIGNALED : 0) | (w.inlined ? IBV_SEND_INLINE : 0);
  if (c.kind == work_kind::send_invalidate) {
    request.invalidate_rkey = w.rkey;
  } else {
    request.wr.rdma.remote_addr = w.remote_address;
    request.wr.rdma.rkey = w.rkey;
  }
}

}  // namespace

bool connection::post_chain(std::span<const chained_work> all) {
  constexpr std::size_t most = 32;  // by one call
  ibv_sge pieces[most];
  ibv_send_wr requests[most];
  for (std::size_t done = 0; done < all.size(); done += most) {
    const std::size_t n = std::min(all.size() - done, most);
    for (std::size_t k = 0; k < n; ++k) {
      fill(requests[k], pieces[k], all[done + k]);
      if (k != 0) requests[k - 1].next = &requests[k];
    }
    ibv_send_wr* bad = nullptr;
    const int outcome = ibv_post_send(state_->id->qp, requests, &bad);
    if (outcome == ENOMEM) return false;
    if (outcome != 0) throw call_error("posting a request towards " + state_->peer, outcome);
  }
  return true;
}

bool connection::post(work_kind kind, const work& w) {
  const chained_work one{kind, w};
  return post_chain({&one, 1});
}

bool connection::post_send(const work& w) { return post(work_kind::send, w); }
bool connection::post_send_invalidate(const work& w) { return post(work_kind::send_invalidate, w); }
bool connection::post_read(const work& w) { return post(work_kind::read, w); }
bool connection::post_write(const work& w) { return post(work_kind::write, w); }

bool connection::post_receive(const work& w) {
  ibv_sge piece{w.address, w.bytes, w.lkey};
  ibv_recv_wr request{};
  request.wr_id = w.id;
  request.sg_list = &piece;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  const int outcome = ibv_post_recv(state_->id->qp, &request, &bad);
  if (outcome == 0) return true;
  if (outcome == ENOMEM) return false;
  throw call_error("posting a receive for " + state_->peer, outcome);
}

std::uint32_t connection::poll(std::span<ibv_wc> out) {
  const int found = ibv_poll_cq(state_->cq, static_cast<int>(out.size()), out.data());
  if (found < 0) throw error("polling the completions of " + state_->peer + " failed");
  return static_cast<std::uint32_t>(found);
}

void connection::wait(milliseconds timeout) {
  pollfd readable[2] = {{completion_fd(), POLLIN, 0}, {event_fd(), POLLIN, 0}};
  (void)::poll(readable, 2, static_cast<int>(timeout.count()));
  drain_wakeups();
}

int connection::completion_fd() const { return state_->wakeups->fd; }
int connection::event_fd() const { return state_->events.fd(); }

void connection::arm() {
  if (const int outcome = ibv_req_notify_cq(state_->cq, 0); outcome != 0) {
    throw call_error("waiting for the completions of " + state_->peer, outcome);
  }
}

void connection::drain_wakeups() { state_->drain(); }

bool connection::alive() {
  for (; !state_->ended;) {
    const std::optional<cm_event> event = state_->events.next(milliseconds(0));
    if (!event) return true;
    switch (event->type) {
      case RDMA_CM_EVENT_DISCONNECTED:
      case RDMA_CM_EVENT_DEVICE_REMOVAL:
      case RDMA_CM_EVENT_REJECTED:
      case RDMA_CM_EVENT_CONNECT_ERROR:
      case RDMA_CM_EVENT_UNREACHABLE:
        // Until this side answers, what it has posted would not come back.
        disconnect();
        break;
      default: break;
    }
  }
  return false;
}

void connection::disconnect() {
  if (!state_->ended.exchange(true)) (void)rdma_disconnect(state_->id);
}

std::uint32_t connection::inline_bytes() const { return state_->inline_bytes; }
const std::vector<unsigned char>& connection::peer_data() const { return state_->peer_data; }
net_address connection::peer() const { return net_address::from(*rdma_get_peer_addr(state_->id)); }
net_address connection::local() const {
  return net_address::from(*rdma_get_local_addr(state_->id));
}
ibv_qp* connection::queue_pair() const { return state_->id->qp; }

}  // namespace gnstor::host::verbs
