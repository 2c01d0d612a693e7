#include "request_ledger.hpp"

#include "words.hpp"

#include <fmt/format.h>

namespace gnstor::host::verbs {
namespace {

constexpr std::chrono::seconds patience{1};  ///< with a device that reports nothing more

}  // namespace

bool request_ledger::take(const ibv_wc& c, completion& out) {
  if (dead_ && c.wr_id < done_) return false;  // given up by `take_dead`
  if (c.wr_id != done_ || done_ == posted_) {
    throw error(fmt::format("the device completed request {} where {} was due", c.wr_id, done_));
  }
  const sent r = at(done_++);
  out = completion{};
  out.index = r.index;
  if (c.status == IBV_WC_SUCCESS) {
    out.kind = completion_kind::sent;
    return r.kind == proxy_request_kind::one_sided;  // a capsule's response tells of its success
  }
  out.kind = completion_kind::failed;
  out.outcome = completion_status(c.status, c.vendor_err);
  die(out.outcome, clock::now());
  return true;
}

bool request_ledger::take_nop(completion& out) {
  if (done_ == posted_ || at(done_).kind != proxy_request_kind::nop) return false;
  out = completion{};
  out.kind = dead_ ? completion_kind::failed : completion_kind::sent;
  out.index = at(done_++).index;
  if (dead_) out.outcome = completion_status(IBV_WC_WR_FLUSH_ERR);
  return true;
}

void request_ledger::die(gnstor::status why, clock::time_point now) {
  if (dead_) return;
  dead_ = true;
  why_ = why;
  died_ = now;
}

bool request_ledger::take_dead(completion& out, clock::time_point now) {
  if (!dead_ || reported_) return false;
  out = completion{};
  if (done_ != posted_) {
    if (now - died_ < patience) return false;
    out.kind = completion_kind::failed;
    out.index = at(done_++).index;
    out.outcome = completion_status(IBV_WC_WR_FLUSH_ERR);
    return true;
  }
  reported_ = true;
  out.kind = completion_kind::broken;
  out.outcome = why_;
  return true;
}

}  // namespace gnstor::host::verbs
