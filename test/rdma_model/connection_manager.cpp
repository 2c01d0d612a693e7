/// The RDMA connection manager's calls.

#include "conversation.hpp"
#include "descriptor.hpp"
#include "device.hpp"
#include "network.hpp"

#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

namespace gnstor::test::rdma_model {
namespace {

identifier& of(rdma_cm_id* id) { return static_cast<identifier&>(*id); }

int refuse(int why) {
  errno = why;
  return -1;
}

void put_simple_event(rdma_cm_id* id, rdma_cm_event_type type, int status = 0) {
  waiting_event e{};
  e.id = id;
  e.event = type;
  e.status = status;
  put_event(std::move(e));
}

void bind_to_device(rdma_cm_id* id) {
  id->verbs = the_context();
  id->port_num = 1;
}

/// What a program says when it connects or accepts; false if a device cannot do that.
bool words_in(const rdma_conn_param* said, std::size_t most_data, connection_words& words) {
  if (said == nullptr) return true;
  if (said->private_data_len > most_data || said->responder_resources > most_reads_in_flight ||
      said->initiator_depth > most_reads_in_flight) {
    return false;
  }
  words.responder_resources = said->responder_resources;
  words.initiator_depth = said->initiator_depth;
  if (said->private_data_len != 0)
    std::memcpy(words.data, said->private_data, said->private_data_len);
  return true;
}

bool possible(const ibv_qp_init_attr& a) {
  return a.qp_type == IBV_QPT_RC && a.srq == nullptr && a.send_cq != nullptr &&
         a.recv_cq != nullptr && a.cap.max_send_wr <= most_requests &&
         a.cap.max_recv_wr <= most_requests && a.cap.max_send_sge <= 1 && a.cap.max_recv_sge <= 1 &&
         a.cap.max_inline_data <= most_inline_bytes;
}

}  // namespace
}  // namespace gnstor::test::rdma_model

using namespace gnstor::test::rdma_model;

extern "C" {

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* user, rdma_port_space ps) {
  if (ps != RDMA_PS_TCP || channel == nullptr) return refuse(EINVAL);
  auto* made = new identifier{};
  made->talk = std::make_shared<conversation>();
  made->talk->id = made;
  made->channel = channel;
  made->context = user;
  made->ps = ps;
  made->qp_type = IBV_QPT_RC;
  *id = made;
  return 0;
}

int rdma_destroy_id(rdma_cm_id* id) {
  if (id->qp != nullptr) misused("an identifier is destroyed before its queue pair");
  destroy_identifier(&of(id));
  return 0;
}

int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
  const bool everywhere = is_wildcard(*address);
  if (!everywhere && !is_local(*address)) return refuse(EADDRNOTAVAIL);
  std::memcpy(&id->route.addr.src_storage, address, size_of(*address));
  if (!everywhere) bind_to_device(id);
  return 0;
}

int rdma_listen(rdma_cm_id* id, int backlog) {
  const int fd = listen_at(id->route.addr.src_addr, backlog);
  if (fd < 0) return -1;
  of(id).listens = std::make_shared<listening>(fd, id);
  engine::get().watch(fd, of(id).listens);
  return 0;
}

int rdma_resolve_addr(rdma_cm_id* id, sockaddr* source, sockaddr* there, int) {
  if (source != nullptr && rdma_bind_addr(id, source) != 0) return -1;
  if (id->verbs == nullptr && !source_towards(*there, id->route.addr.src_storage)) return -1;
  std::memcpy(&id->route.addr.dst_storage, there, size_of(*there));
  bind_to_device(id);
  put_simple_event(id, RDMA_CM_EVENT_ADDR_RESOLVED);
  return 0;
}

int rdma_resolve_route(rdma_cm_id* id, int) {
  if (id->verbs == nullptr) return refuse(EINVAL);
  put_simple_event(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
  return 0;
}

int rdma_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* wanted) {
  if (id->verbs == nullptr || id->qp != nullptr || !possible(*wanted)) return refuse(EINVAL);
  const std::lock_guard lock(of(id).talk->guard);
  auto* made = new queue_pair(pd, *wanted, of(id).talk);
  of(id).talk->qp = made;
  id->qp = made;
  id->pd = pd;
  return 0;
}

void rdma_destroy_qp(rdma_cm_id* id) {
  auto* const qp = static_cast<queue_pair*>(std::exchange(id->qp, nullptr));
  const auto talk = of(id).talk;
  {
    const std::lock_guard lock(talk->guard);
    talk->qp = nullptr;
  }
  delete qp;
}

int rdma_connect(rdma_cm_id* id, rdma_conn_param* said) {
  connection_words words;
  if (!words_in(said, ask_data, words)) return refuse(EINVAL);
  conversation& talk = *of(id).talk;
  const std::lock_guard lock(talk.guard);
  if (id->verbs == nullptr || talk.now != conversation::phase::idle) return refuse(EINVAL);
  if (cut_off()) return 0;  // the request is lost
  const int socket = connect_to(id->route.addr.dst_addr);
  if (socket < 0) {
    const bool nobody = errno == ECONNREFUSED && is_local(id->route.addr.dst_addr);
    if (nobody) {
      put_simple_event(id, RDMA_CM_EVENT_REJECTED, rejected_nobody_listens);
    } else {
      put_simple_event(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
    }
    return 0;
  }
  words.from = words_of(id->route.addr.src_addr);
  words.to = words_of(id->route.addr.dst_addr);
  talk.connect(socket, words);
  return 0;
}

int rdma_accept(rdma_cm_id* id, rdma_conn_param* said) {
  connection_words words;
  if (!words_in(said, accept_data, words)) return refuse(EINVAL);
  conversation& talk = *of(id).talk;
  const std::lock_guard lock(talk.guard);
  if (talk.now != conversation::phase::asked || talk.qp == nullptr) return refuse(EINVAL);
  talk.accept(words);
  return 0;
}

int rdma_reject(rdma_cm_id* id, const void* data, std::uint8_t bytes) {
  connection_words words;
  rdma_conn_param said{};
  said.private_data = data;
  said.private_data_len = bytes;
  if (!words_in(&said, reject_data, words)) return refuse(EINVAL);
  conversation& talk = *of(id).talk;
  const std::lock_guard lock(talk.guard);
  if (talk.now != conversation::phase::asked) return refuse(EINVAL);
  talk.reject(words);
  return 0;
}

int rdma_disconnect(rdma_cm_id* id) {
  conversation& talk = *of(id).talk;
  const std::lock_guard lock(talk.guard);
  const bool joined =
      talk.now == conversation::phase::joined || talk.now == conversation::phase::accepted;
  if (!joined) return refuse(EINVAL);
  talk.disconnect();
  return 0;
}

std::uint16_t rdma_get_src_port(rdma_cm_id* id) { return port_of(id->route.addr.src_addr); }
std::uint16_t rdma_get_dst_port(rdma_cm_id* id) { return port_of(id->route.addr.dst_addr); }

}  // extern "C"
