/// What a queue pair does for its peer, in the order of the peer's requests.

#include "completions.hpp"
#include "queue_pair.hpp"
#include "regions.hpp"

#include <algorithm>
#include <utility>

namespace gnstor::test::rdma_model {
namespace {

memory_part part_of(const message& m, std::uint32_t offset) {
  return {m.address, m.key, m.total, offset};
}

}  // namespace

bool queue_pair::answer_next(link& to) {
  if (answers_.empty()) return false;
  answer& a = answers_.front();
  if (!a.is_read) {
    to.put(a.head);
    answers_.pop_front();
    return true;
  }
  a.head.bytes = std::min(message_payload, a.head.total - a.head.offset);
  if (!regions::get().read(pd, part_of(a.head, a.head.offset), IBV_ACCESS_REMOTE_READ,
                           to.begin(a.head))) {
    to.undo();
    const message head = a.head;
    answers_.clear();  // the others are of later requests
    refuse(head, IBV_WC_REM_ACCESS_ERR);
    return answer_next(to);
  }
  a.head.offset += a.head.bytes;
  if (a.head.offset == a.head.total) {
    --reads_served_;
    answers_.pop_front();
  }
  return true;
}

/// Carries out a request; false if it must wait for a receive.
bool queue_pair::serve(const message& head, std::span<const unsigned char> payload) {
  if (head.kind == message_kind::send) return serve_send(head, payload);
  if (head.kind == message_kind::read) {
    if (reads_served_ >= responder_resources_) {
      refuse(head, IBV_WC_REM_INV_REQ_ERR);
      return true;
    }
    ++reads_served_;
    answer a{head, true};
    a.head.kind = message_kind::data;
    answers_.push_back(a);
    return true;
  }
  if (!regions::get().write(pd, part_of(head, head.offset), IBV_ACCESS_REMOTE_WRITE, payload)) {
    refuse(head, IBV_WC_REM_ACCESS_ERR);
  } else if (head.offset + payload.size() == head.total) {
    done(head);
  }
  return true;
}

bool queue_pair::serve_send(const message& head, std::span<const unsigned char> payload) {
  if (!receiving_) {
    if (receives_.empty()) return false;
    receiving_ = true;
    if (head.total > receives_.front().local.length) {
      finish_receive(IBV_WC_LOC_LEN_ERR, 0);
      refuse(head, IBV_WC_REM_INV_REQ_ERR);
      return true;
    }
  }
  const ibv_sge& local = receives_.front().local;
  const memory_part into{local.addr, local.lkey, head.total, head.offset};
  if (!regions::get().write(pd, into, IBV_ACCESS_LOCAL_WRITE, payload)) {
    finish_receive(IBV_WC_LOC_PROT_ERR, 0);
    refuse(head, IBV_WC_REM_OP_ERR);
    return true;
  }
  if (head.offset + payload.size() < head.total) return true;
  if (head.key != 0) {  // only memory windows can be invalidated, and here are none
    finish_receive(IBV_WC_REM_INV_REQ_ERR, 0);
    refuse(head, IBV_WC_REM_OP_ERR);
    return true;
  }
  finish_receive(IBV_WC_SUCCESS, head.total);
  done(head);
  return true;
}

void queue_pair::serve_parked() {
  for (; !parked_.empty();) {
    const parked next = std::move(parked_.front());
    parked_.pop_front();
    if (!serve(next.head, next.payload)) {
      parked_.push_front(next);
      return;
    }
  }
}

void queue_pair::finish_receive(ibv_wc_status status, std::uint32_t bytes) {
  const receive_request r = receives_.front();
  receives_.pop_front();
  receiving_ = false;
  ++receives_done_;
  complete(static_cast<completion_queue&>(*recv_cq), &r, nullptr, status, bytes);
}

void queue_pair::done(const message& head) {
  message m;
  m.kind = message_kind::done;
  m.request = head.request;
  answers_.push_back({m, false});
}

/// The last answer: this side's queue pair fails too.
void queue_pair::refuse(const message& head, ibv_wc_status status) {
  message m;
  m.kind = message_kind::refused;
  m.request = head.request;
  m.status = status;
  answers_.push_back({m, false});
  fail();
}

}  // namespace gnstor::test::rdma_model
