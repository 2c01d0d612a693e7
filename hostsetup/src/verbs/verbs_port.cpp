#include "verbs_port.hpp"

#include "words.hpp"

#include <cstring>

namespace gnstor::host::verbs {
namespace {

using wire::nvme::completion_entry;
using wire::nvme::submission_entry;

constexpr std::uint64_t receive_mark = std::uint64_t{1} << 63;  ///< in `wr_id`
constexpr std::uint32_t idle_polls = 64;  ///< between looks at the connection manager

}  // namespace

verbs_port::verbs_port(const protection_domain& domain, connection joined, std::uint32_t depth)
    : memory_(place::host, depth * (sizeof(submission_entry) + sizeof(completion_entry))),
      region_(domain, memory_.data(), memory_.bytes(), region_access{}),
      connection_(std::move(joined)),
      depth_(depth),
      inline_(connection_.inline_bytes() >= sizeof(submission_entry)),
      ledger_(depth),
      ended_(std::make_unique<std::atomic<bool>>(false)) {
  for (std::uint32_t k = 0; k < depth; ++k) post_receive(k);
}

unsigned char* verbs_port::response(std::uint64_t slot) const {
  return static_cast<unsigned char*>(memory_.data()) + depth_ * sizeof(submission_entry) +
         slot * sizeof(completion_entry);
}

void verbs_port::post_receive(std::uint64_t slot) {
  work w;
  w.id = receive_mark | slot;
  w.address = reinterpret_cast<std::uint64_t>(response(slot));
  w.bytes = sizeof(completion_entry);
  w.lkey = region_.lkey();
  if (!connection_.post_receive(w)) throw error("the receive queue is shorter than its receives");
}

bool verbs_port::post_capsule(const proxy_request& r) {
  auto* slot = static_cast<unsigned char*>(memory_.data()) +
               ledger_.next() % depth_ * sizeof(submission_entry);
  std::memcpy(slot, &r.capsule, sizeof r.capsule);
  work w;
  w.id = ledger_.next();
  w.address = reinterpret_cast<std::uint64_t>(slot);
  w.bytes = sizeof r.capsule;
  w.lkey = region_.lkey();
  w.inlined = inline_;
  return connection_.post_send(w);
}

bool verbs_port::post(const proxy_request& r) try {
  if (ledger_.full()) return false;
  bool taken = true;
  if (r.kind == proxy_request_kind::capsule) {
    taken = post_capsule(r);
  } else if (r.kind == proxy_request_kind::one_sided) {
    work w;
    w.id = ledger_.next();
    w.address = r.transfer.local_address;
    w.bytes = r.transfer.bytes;
    w.lkey = r.transfer.lkey;
    w.remote_address = r.transfer.remote_address;
    w.rkey = r.transfer.rkey;
    taken = r.transfer.write ? connection_.post_write(w) : connection_.post_read(w);
  }
  if (taken) ledger_.post(r);
  return taken;
} catch (...) {
  *ended_ = true;
  throw;
}

std::uint32_t verbs_port::poll(completion* out, std::uint32_t most) try {
  std::uint32_t n = 0;
  for (bool more = true; more && n < most;) {
    if (ledger_.take_nop(out[n])) {
      ++n;
    } else if (batch_at_ < batch_size_) {
      n += take(batch_[batch_at_++], out[n]);
    } else {
      batch_at_ = 0;
      batch_size_ = connection_.poll(batch_);
      more = batch_size_ != 0;
    }
  }
  if (n != 0 || most == 0) {
    idle_ = 0;
    return n;
  }
  if (ledger_.dead() && ledger_.take_dead(out[0], request_ledger::clock::now())) return 1;
  if (++idle_ >= idle_polls) {
    idle_ = 0;
    if (!connection_.alive()) die(completion_status(IBV_WC_WR_FLUSH_ERR));
  }
  return 0;
} catch (...) {
  *ended_ = true;
  throw;
}

bool verbs_port::take(const ibv_wc& c, completion& out) {
  if ((c.wr_id & receive_mark) != 0) return take_response(c, out);
  const bool tell = ledger_.take(c, out);
  if (ledger_.dead()) *ended_ = true;
  return tell;
}

bool verbs_port::take_response(const ibv_wc& c, completion& out) {
  if (c.status != IBV_WC_SUCCESS) {
    die(completion_status(c.status, c.vendor_err));
    return false;
  }
  if (c.byte_len != sizeof(completion_entry)) {
    die(completion_status(IBV_WC_LOC_LEN_ERR));
    connection_.disconnect();
    return false;
  }
  const std::uint64_t slot = c.wr_id & ~receive_mark;
  out = completion{};
  out.kind = completion_kind::response;
  std::memcpy(&out.response, response(slot), sizeof out.response);
  post_receive(slot);
  return true;
}

void verbs_port::die(gnstor::status why) {
  ledger_.die(why, request_ledger::clock::now());
  *ended_ = true;
}

}  // namespace gnstor::host::verbs
