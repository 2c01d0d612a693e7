#pragma once

#include <gnstor/qp/completion.hpp>
#include <gnstor/qp/proxy_request.hpp>

#include <infiniband/verbs.h>

#include <chrono>
#include <vector>

namespace gnstor::host::verbs {

/// What a `verbs_port` remembers about the requests in its send queue, and what it makes of their
/// work completions.
///
/// Every request but a NOP is signalled, and a reliable connection completes them in order. So the
/// oldest request is the one that completes, and a NOP needs no message: it is done when it is the
/// oldest.
class request_ledger {
 public:
  using clock = std::chrono::steady_clock;

  explicit request_ledger(std::uint32_t depth) : sent_(depth) {}

  bool full() const { return posted_ - done_ == sent_.size(); }
  /// The number under which the next request is posted: `ibv_wc::wr_id` of its completion.
  std::uint64_t next() const { return posted_; }
  /// Notes that the next request was posted.
  void post(const proxy_request& r) { at(posted_++) = sent{r.kind, r.index}; }

  /// Takes the work completion of a request. True if there is something to tell. Throws `error` if
  /// it is not the oldest request's.
  bool take(const ibv_wc& c, completion& out);
  /// Takes a NOP that is the oldest request.
  bool take_nop(completion& out);

  /// The connection is dead; `why` is reported if no request is to blame.
  void die(gnstor::status why, clock::time_point now);
  bool dead() const { return dead_; }
  /// What is left to tell of a dead connection, when no work completion is at hand: requests that
  /// the device never reported, after a second, and at last `broken`. It comes last so that the
  /// request to blame is reported before.
  bool take_dead(completion& out, clock::time_point now);

 private:
  struct sent {
    proxy_request_kind kind = proxy_request_kind::none;
    std::uint64_t index = 0;
  };
  sent& at(std::uint64_t n) { return sent_[n % sent_.size()]; }

  std::vector<sent> sent_;
  std::uint64_t posted_ = 0;
  std::uint64_t done_ = 0;
  bool dead_ = false;
  bool reported_ = false;  ///< `broken` was reported
  gnstor::status why_{};
  clock::time_point died_{};
};

}  // namespace gnstor::host::verbs
