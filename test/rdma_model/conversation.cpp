#include "conversation.hpp"

#include "network.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace gnstor::test::rdma_model {
namespace {

constexpr std::size_t high_water = 256 * 1024;  ///< bytes that wait to be sent

using clock = queue_pair::clock;

}  // namespace

void listening::ready() {
  int socket = 0;
  for (int most = 64; most > 0 && socket >= 0; --most) {
    socket = accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) return;
    auto talk = std::make_shared<conversation>();
    const std::lock_guard lock(talk->guard);
    talk->from = shared_from_this();
    talk->now = conversation::phase::unasked;
    talk->begin(socket);
  }
}

void conversation::begin(int socket) {
  wire = std::make_unique<link>(socket);
  open_ = true;
  engine::get().watch(socket, shared_from_this());
}

void conversation::ready() {
  const std::lock_guard lock(guard);
  if (!open_) return;
  const bool more = wire->receive();
  message head;
  std::span<const unsigned char> payload;
  for (; wire != nullptr && wire->next(head, payload);) hear(head, payload);
  if (!more) lose();
  pump();
}

void conversation::tick() {
  const std::lock_guard lock(guard);
  if (silent_ && qp != nullptr) qp->retry_in_vain(*silent_);
  pump();
}

void conversation::pump() {
  if (!open_ || cut_off()) return;
  for (bool more = true; more;) {
    for (; qp != nullptr && wire->waiting() < high_water && qp->fill(*wire);) continue;
    more = wire->waiting() != 0;
    wire->flush();
    more = more && wire->waiting() == 0;  // the socket takes what there may be next
  }
  const bool rest = wire->waiting() != 0;
  if (rest != wants_to_write_) engine::get().want_to_write(wire->fd(), rest);
  wants_to_write_ = rest;
}

// ---- what the program does

void conversation::connect(int socket, const connection_words& words) {
  now = phase::asking;
  begin(socket);
  say(message_kind::ask, &words);
  pump();
}

void conversation::accept(const connection_words& words) {
  now = phase::accepted;
  qp->join(words.responder_resources, words.initiator_depth);
  say(message_kind::accept, &words);
  pump();
}

void conversation::reject(const connection_words& words) {
  now = phase::over;
  say(message_kind::reject, &words, rejected_by_program);
  pump();
}

void conversation::disconnect() {
  if (qp != nullptr) qp->stop();
  say(message_kind::leave, nullptr);
  pump();
}

void conversation::close() {
  const std::lock_guard lock(guard);
  id = nullptr;
  now = phase::over;
  open_ = false;
  if (wire == nullptr) return;
  engine::get().forget(wire->fd());
  engine::get().bury(std::move(wire));
}

void conversation::say(message_kind kind, const connection_words* words, std::uint32_t status) {
  if (!open_) return;
  message m;
  m.kind = kind;
  m.status = status;
  m.bytes = words != nullptr ? sizeof *words : 0;
  const std::span<unsigned char> payload = wire->begin(m);
  if (words != nullptr) std::memcpy(payload.data(), words, sizeof *words);
}

// ---- what the peer does

void conversation::hear(const message& head, std::span<const unsigned char> payload) {
  connection_words words;
  if (payload.size() == sizeof words) std::memcpy(&words, payload.data(), sizeof words);
  switch (head.kind) {
    case message_kind::ask: return hear_ask(words);
    case message_kind::accept:
    case message_kind::reject: return hear_answer(head, words);
    case message_kind::ready:
      if (now == phase::accepted) raise(RDMA_CM_EVENT_ESTABLISHED);
      if (now == phase::accepted) now = phase::joined;
      return;
    case message_kind::leave: return peer_has_left();
    case message_kind::silent: silent_ = clock::now(); return;
    default:
      if (qp != nullptr) qp->take(head, payload);
  }
}

void conversation::hear_ask(const connection_words& words) {
  if (now != phase::unasked) return;
  const auto listener = std::exchange(from, nullptr);
  const std::lock_guard lock(listener->guard);
  if (listener->id == nullptr) {
    now = phase::over;
    return say(message_kind::reject, &words, rejected_nobody_listens);
  }
  now = phase::asked;
  auto* made = new identifier{};
  static_cast<rdma_cm_id&>(*made) = rdma_cm_id{};
  made->talk = shared_from_this();
  made->channel = listener->id->channel;
  made->context = listener->id->context;
  made->ps = RDMA_PS_TCP;
  made->verbs = the_context();
  made->port_num = 1;
  set_address(made->route.addr.src_addr, words.to);
  set_address(made->route.addr.dst_addr, words.from);
  id = made;
  waiting_event e{};
  e.listen_id = listener->id;
  e.id = id;
  e.event = RDMA_CM_EVENT_CONNECT_REQUEST;
  // What the peer may have in flight is what this side must have room for.
  e.param.conn.responder_resources = words.initiator_depth;
  e.param.conn.initiator_depth = words.responder_resources;
  e.data.assign(words.data, words.data + ask_data);
  put_event(std::move(e));
}

void conversation::hear_answer(const message& head, const connection_words& words) {
  if (now != phase::asking) return;
  if (head.kind == message_kind::reject) {
    now = phase::over;
    raise(RDMA_CM_EVENT_REJECTED, static_cast<int>(head.status), &words, reject_data);
    return;
  }
  now = phase::joined;
  if (qp != nullptr) qp->join(words.initiator_depth, words.responder_resources);
  say(message_kind::ready, nullptr);
  raise(RDMA_CM_EVENT_ESTABLISHED, 0, &words, accept_data);
}

void conversation::peer_has_left() {
  if (!silent_) silent_ = clock::now();
  if (now == phase::joined && !std::exchange(noted_, true)) raise(RDMA_CM_EVENT_DISCONNECTED);
}

/// The socket has ended: so has the peer's process, or the peer has ended the connection.
void conversation::lose() {
  open_ = false;
  if (id == nullptr) return engine::get().forget(wire->fd());
  engine::get().ignore(wire->fd());
  peer_has_left();
  if (now == phase::asking) raise(RDMA_CM_EVENT_REJECTED, rejected_by_program);
  if (now == phase::asked || now == phase::accepted)
    raise(RDMA_CM_EVENT_REJECTED, rejected_too_late);
  if (now != phase::joined) now = phase::over;
}

void conversation::raise(rdma_cm_event_type type, int status, const connection_words* words,
                         std::size_t data_bytes) {
  if (id == nullptr) return;
  waiting_event e{};
  e.id = id;
  e.event = type;
  e.status = status;
  if (words != nullptr) {
    e.param.conn.responder_resources = words->responder_resources;
    e.param.conn.initiator_depth = words->initiator_depth;
    e.data.assign(words->data, words->data + data_bytes);
  }
  put_event(std::move(e));
}

void destroy_identifier(identifier* id) {
  if (id->talk != nullptr) id->talk->close();
  if (const auto listens = std::move(id->listens)) {
    {
      const std::lock_guard lock(listens->guard);
      listens->id = nullptr;
    }
    engine::get().forget(listens->fd);
    ::close(listens->fd);
  }
  for (rdma_cm_id* abandoned : drop_events(id)) {
    destroy_identifier(static_cast<identifier*>(abandoned));
  }
  delete id;
}

}  // namespace gnstor::test::rdma_model
