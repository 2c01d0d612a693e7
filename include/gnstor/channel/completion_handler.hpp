#pragma once

#include <gnstor/channel/channel_life.hpp>
#include <gnstor/channel/response_status.hpp>
#include <gnstor/qp/queue_pair.hpp>

namespace gnstor::detail {

/// What becomes of the completions of a channel, whichever lane took them from the queue (a
/// reference).
template <queue_pair QP>
class completion_handler {
  using table = request_table<thread_scope_device>;

 public:
  GNSTOR_HD completion_handler(const QP& queue, channel_state& state, table requests)
      : queue_(&queue), state_(&state), requests_(requests) {}

  /// Delivers a completion to whoever asked. True if it was any.
  GNSTOR_HD bool deliver(const completion& c) const {
    switch (c.kind) {
      case completion_kind::none: return false;
      case completion_kind::response: answer(c.response); return true;
      case completion_kind::sent: queue_->retire(c.index); return true;
      case completion_kind::failed: fail(c); return true;
      case completion_kind::broken: lose(c.outcome); return true;
    }
    return false;
  }
  /// True if `c` answers `t`, whose owner has taken it from the queue itself: nobody has to hand it
  /// over. False too if a duplicate of it was faster.
  GNSTOR_HD bool take_own(ticket t, const completion& c) const {
    if (c.kind != completion_kind::response || c.response.command_id != t.id.value) return false;
    if (!requests_.take_own(t, [&](std::uint64_t index) { queue_->retire(index); })) return false;
    count(state_->completed, relaxed);
    return true;
  }

 private:
  using met = table::answer;

  GNSTOR_HD void answer(const wire::nvme::completion_entry& response) const {
    const command_id id(response.command_id);
    // A reliable connection delivers in order: who answers request i has received every earlier
    // one.
    const result<request_position> sent = requests_.recall(id);
    if (sent) queue_->retire(sent.value.index);
    count(counter(requests_.complete(id, response_status(response),
                                     response.dw0 | std::uint64_t{response.dw1} << 32,
                                     sent.value.continued)),
          relaxed);
  }
  GNSTOR_HD void fail(const completion& c) const {
    // Not retired: the entry's capsule still tells whose it is, also to a lane that takes the
    // failure before it.
    const command_id id = queue_->sent_id(c.index);
    // The owner first: once the phase is `error`, it would take this request for one that another
    // killed.
    const bool continued = requests_.recall(id).value.continued;
    status why = c.outcome;
    if (why.code == status_code::flushed) {
      // The NIC only says that another one failed; what that one was answered is the cause.
      const status first = channel_life(*state_, requests_).broken_status();
      if (first.syndrome != 0) why = first;
    }
    std::uint64_t& counted = counter(requests_.complete(id, why, 0, continued));
    if (c.outcome.code == status_code::transport_error) break_down(c.outcome);
    // Last, and released: a reset that counts this failure finds nothing of it left to happen.
    count(counted, release);
  }
  /// The queue pair is dead, and no request is to blame.
  GNSTOR_HD void lose(status why) const {
    break_down(why);
    count(state_->broken, release);  // as in `fail`
  }
  GNSTOR_HD void break_down(status why) const {
    std::uint64_t none = 0;
    device_word<std::uint64_t>(state_->first_error).compare_exchange(none, why.pack(), acq_rel);
    (void)channel_life(*state_, requests_).phase().fail();
  }

  GNSTOR_HD std::uint64_t& counter(met m) const {
    switch (m) {
      case met::delivered: return state_->completed;
      case met::late: return state_->late;
      case met::unknown: break;
    }
    return state_->unknown;
  }
  GNSTOR_HD static void count(std::uint64_t& counter, memory_order order) {
    device_word<std::uint64_t>(counter).fetch_add(1, order);
  }

  const QP* queue_;
  channel_state* state_;
  table requests_;
};

}  // namespace gnstor::detail
