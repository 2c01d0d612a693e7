#include "queue_pair.hpp"

#include "conversation.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace gnstor::test::rdma_model {
namespace {

constexpr std::chrono::milliseconds retry_time{1000};

std::uint32_t next_number() {
  static std::atomic<std::uint32_t> next{17};
  return next++;
}

ibv_wc_opcode completed(ibv_wr_opcode posted) {
  switch (posted) {
    case IBV_WR_RDMA_READ: return IBV_WC_RDMA_READ;
    case IBV_WR_RDMA_WRITE: return IBV_WC_RDMA_WRITE;
    default: return IBV_WC_SEND;
  }
}

completion_queue& queue_of(ibv_cq* cq) { return static_cast<completion_queue&>(*cq); }

}  // namespace

queue_pair::queue_pair(ibv_pd* domain, const ibv_qp_init_attr& wanted,
                       std::shared_ptr<conversation> of)
    : ibv_qp{}, talk(std::move(of)), cap_(wanted.cap), signal_all_(wanted.sq_sig_all != 0) {
  context = domain->context;
  qp_context = wanted.qp_context;
  pd = domain;
  send_cq = wanted.send_cq;
  recv_cq = wanted.recv_cq;
  qp_num = next_number();
  qp_type = IBV_QPT_RC;
  state = IBV_QPS_INIT;
  ++queue_of(send_cq).users;
  ++queue_of(recv_cq).users;
}

queue_pair::~queue_pair() {
  queue_of(send_cq).forget(&slots_);
  queue_of(recv_cq).forget(&slots_);
  --queue_of(send_cq).users;
  --queue_of(recv_cq).users;
}

int queue_pair::post_send(const ibv_send_wr& wanted) {
  const bool known = wanted.opcode == IBV_WR_SEND || wanted.opcode == IBV_WR_SEND_WITH_INV ||
                     wanted.opcode == IBV_WR_RDMA_READ || wanted.opcode == IBV_WR_RDMA_WRITE;
  if (!known || wanted.num_sge > 1 || (state != IBV_QPS_RTS && state != IBV_QPS_ERR)) return EINVAL;
  if (sends_posted_ - slots_.sends >= cap_.max_send_wr) return ENOMEM;
  send_request r;
  r.id = wanted.wr_id;
  r.number = sends_posted_;
  r.opcode = wanted.opcode;
  r.signalled = signal_all_ || (wanted.send_flags & IBV_SEND_SIGNALED) != 0;
  r.inlined = (wanted.send_flags & IBV_SEND_INLINE) != 0;
  if (wanted.num_sge == 1) r.local = wanted.sg_list[0];
  if (wanted.opcode == IBV_WR_SEND_WITH_INV) {
    r.rkey = wanted.invalidate_rkey;
  } else {
    r.rkey = wanted.wr.rdma.rkey;
    r.remote_address = wanted.wr.rdma.remote_addr;
  }
  if (r.inlined) {
    if (r.local.length > cap_.max_inline_data || r.opcode == IBV_WR_RDMA_READ) return EINVAL;
    r.bytes.resize(r.local.length);
    if (r.local.length != 0)
      std::memcpy(r.bytes.data(), reinterpret_cast<const void*>(r.local.addr), r.local.length);
  }
  r.posted = clock::now();
  ++sends_posted_;
  sends_.push_back(std::move(r));
  if (state == IBV_QPS_ERR) fail();
  return 0;
}

int queue_pair::post_receive(const ibv_recv_wr& wanted) {
  if (wanted.num_sge != 1) return EINVAL;
  if (receives_posted_ - slots_.receives >= cap_.max_recv_wr) return ENOMEM;
  ++receives_posted_;
  receives_.push_back({wanted.wr_id, wanted.sg_list[0]});
  if (state == IBV_QPS_ERR) fail();
  serve_parked();
  return 0;
}

bool queue_pair::fill(link& to) {
  if (answer_next(to) || ask_next(to)) return true;
  if (!std::exchange(announce_silence_, false)) return false;
  message m;
  m.kind = message_kind::silent;
  to.put(m);
  return true;
}

void queue_pair::take(const message& head, std::span<const unsigned char> payload) {
  if (state != IBV_QPS_RTS) return;  // a queue pair in the error state drops what comes
  switch (head.kind) {
    case message_kind::send:
    case message_kind::write:
    case message_kind::read:
      if (parked_.empty() && serve(head, payload)) return;
      if (state == IBV_QPS_RTS) parked_.push_back({head, {payload.begin(), payload.end()}});
      break;
    default: answered(head, payload);
  }
}

void queue_pair::join(std::uint8_t responder_resources, std::uint8_t initiator_depth) {
  responder_resources_ = responder_resources;
  initiator_depth_ = initiator_depth;
  if (state == IBV_QPS_INIT) state = IBV_QPS_RTS;
}

void queue_pair::stop() {
  answers_.clear();
  fail();
}

void queue_pair::retry_in_vain(clock::time_point silence) {
  if (state != IBV_QPS_RTS || sends_.empty()) return;
  if (clock::now() - std::max(silence, sends_.front().posted) < retry_time) return;
  finish_send(IBV_WC_RETRY_EXC_ERR);
  fail();
}

/// Enters the error state: all that is posted, and will be, comes back flushed.
void queue_pair::fail() {
  state = IBV_QPS_ERR;
  parked_.clear();
  for (; !sends_.empty();) finish_send(IBV_WC_WR_FLUSH_ERR);
  for (; !receives_.empty();) finish_receive(IBV_WC_WR_FLUSH_ERR, 0);
}

void queue_pair::complete(completion_queue& into, const receive_request* r, const send_request* s,
                          ibv_wc_status status, std::uint32_t bytes) {
  completion_queue::entry e;
  e.slots = &slots_;
  e.receive = r != nullptr;
  e.reclaims = r != nullptr ? receives_done_ : s->number + 1;
  e.what.wr_id = r != nullptr ? r->id : s->id;
  e.what.opcode = r != nullptr ? IBV_WC_RECV : completed(s->opcode);
  e.what.status = status;
  e.what.byte_len = bytes;
  e.what.qp_num = qp_num;
  into.put(e);
}

}  // namespace gnstor::test::rdma_model
