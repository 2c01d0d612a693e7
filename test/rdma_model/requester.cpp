/// What a queue pair asks of its peer: its send queue, in order.

#include "completions.hpp"
#include "descriptor.hpp"
#include "queue_pair.hpp"
#include "regions.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gnstor::test::rdma_model {
namespace {

memory_part part_of(const ibv_sge& local, std::uint32_t offset) {
  return {local.addr, local.lkey, local.length, offset};
}

}  // namespace

bool queue_pair::ask_next(link& to) {
  if (state != IBV_QPS_RTS || next_ == sends_.size()) return false;
  send_request& r = sends_[next_];
  if (r.verdict != IBV_WC_SUCCESS) return false;
  if (r.opcode == IBV_WR_RDMA_READ) return ask_read(to, r);
  message m;
  m.kind = r.opcode == IBV_WR_RDMA_WRITE ? message_kind::write : message_kind::send;
  m.bytes = std::min(message_payload, r.local.length - r.sent);
  m.request = r.number;
  m.address = r.remote_address;
  m.key = r.opcode == IBV_WR_SEND ? 0 : r.rkey;
  m.total = r.local.length;
  m.offset = r.sent;
  const std::span<unsigned char> payload = to.begin(m);
  if (r.inlined) {
    std::copy_n(r.bytes.data() + r.sent, m.bytes, payload.data());
  } else if (!regions::get().read(pd, part_of(r.local, r.sent), 0, payload)) {
    to.undo();
    r.verdict = IBV_WC_LOC_PROT_ERR;
    finish_judged();
    return false;
  }
  r.sent += m.bytes;
  if (r.sent == r.local.length) ++next_;
  return true;
}

/// READs in flight are limited: the peer has room for no more.
bool queue_pair::ask_read(link& to, send_request& r) {
  if (reads_asked_ != 0 && reads_asked_ >= initiator_depth_) return false;
  if (initiator_depth_ == 0) {
    r.verdict = IBV_WC_LOC_QP_OP_ERR;
  } else if (!regions::get().allows(pd, part_of(r.local, 0), IBV_ACCESS_LOCAL_WRITE)) {
    r.verdict = IBV_WC_LOC_PROT_ERR;
  }
  if (r.verdict != IBV_WC_SUCCESS) {
    finish_judged();
    return false;
  }
  message m;
  m.kind = message_kind::read;
  m.request = r.number;
  m.address = r.remote_address;
  m.key = r.rkey;
  m.total = r.local.length;
  to.put(m);
  ++reads_asked_;
  ++next_;
  return true;
}

/// Completes the oldest request.
void queue_pair::finish_send(ibv_wc_status status) {
  const send_request r = std::move(sends_.front());
  sends_.pop_front();
  const bool asked = next_ != 0;
  if (asked) --next_;
  if (asked && r.opcode == IBV_WR_RDMA_READ) --reads_asked_;
  if (status != IBV_WC_SUCCESS || r.signalled)
    complete(static_cast<completion_queue&>(*send_cq), nullptr, &r, status, r.local.length);
}

/// A request that failed on this side comes back when those before it have.
void queue_pair::finish_judged() {
  if (sends_.empty() || sends_.front().verdict == IBV_WC_SUCCESS) return;
  finish_send(sends_.front().verdict);
  announce_silence_ = true;
  fail();
}

void queue_pair::answered(const message& head, std::span<const unsigned char> payload) {
  if (sends_.empty() || sends_.front().number != head.request)
    misused("an answer does not belong to the oldest request");
  const send_request& r = sends_.front();
  if (head.kind == message_kind::refused) {
    finish_send(static_cast<ibv_wc_status>(head.status));
    fail();
    return;
  }
  if (head.kind == message_kind::data) {
    memory_part into = part_of(r.local, head.offset);
    if (!regions::get().write(pd, into, IBV_ACCESS_LOCAL_WRITE, payload)) {
      finish_send(IBV_WC_LOC_PROT_ERR);
      announce_silence_ = true;
      fail();
      return;
    }
    if (head.offset + payload.size() < r.local.length) return;
  }
  finish_send(IBV_WC_SUCCESS);
  finish_judged();
}

}  // namespace gnstor::test::rdma_model
