#pragma once

#include <gnstor/channel/ticket.hpp>
#include <gnstor/core/hash.hpp>
#include <gnstor/io/callback_table.hpp>
#include <gnstor/io/completion_call.hpp>
#include <gnstor/io/operation_table.hpp>
#include <gnstor/simt/step_together.hpp>

namespace gnstor::inline v0 {

/// Asynchronous operations on a channel: begun by one lane, carried on by whoever polls, and taken
/// by a lane that waits or by a callback (GNStor, section 4.4).
///
/// An operation is a set of steps, one command each; a step that fails at one SSD goes on to the
/// next. Answers are taken from the queue by any lane that polls the channel, for whatever reason.
/// The lanes that poll *here* also act on them: they settle steps, send them on, and notice the
/// ones whose time is up. Callbacks run in lanes that dispatch, with nothing held: they may begin
/// operations.
/// A reference: trivially copyable, made from a channel wherever it is needed.
template <class Channel>
class async_io {
  using request_list = detail::request_table<thread_scope_device>;
  using operation_list = detail::operation_table<thread_scope_device>;

 public:
  GNSTOR_HD explicit async_io(const Channel& channel)
      : channel_(channel),
        requests_(channel.requests()),
        operations_(channel.step_memory(), channel.queue().depth()) {}

  /// Begins an operation: sends its steps, and does not wait for them.
  /// @param then called when all is over; by default somebody must `wait` for the ticket
  /// @param d when the operation ends at the latest, as long as somebody polls
  /// @param next `next(step)` sets the next of its steps, or is false at the end; there is one
  /// @par Callers any lane
  /// @par Errors would_block: nothing was sent, as too many operations or requests are going on;
  /// otherwise as `open`. Whatever happens later is the operation's outcome
  template <class Next>
  GNSTOR_HD result<ticket> begin(completion_call then, deadline d, Next next) const {
    const result<ticket> operation = open(then.callback, then.argument, d);
    if (!operation) return operation;
    detail::io_step step;
    status failed;
    if (next(step)) failed = try_add(operation.value, step);
    if (failed.code == status_code::would_block) {
      cancel(operation.value);
      return failed;
    }
    for (bool more = failed.ok() && next(step); more; more = failed.ok() && next(step))
      failed = add(operation.value, step);
    end(operation.value, failed);
    return operation;
  }

  /// Opens an operation. Its lane then adds its steps and calls `end`.
  /// @par Callers any lane
  /// @par Errors would_block: as many operations as the channel has request slots go on; poll,
  /// dispatch or wait, and try again. not_ready, closed, flushed by phase; unsupported where the
  /// channel was not made for asynchronous I/O
  GNSTOR_HD result<ticket> open(callback_id then, std::uint64_t argument, deadline d) const {
    const status usable = channel_.usable();
    if (!usable.ok()) return usable;
    return operations_.begin(then, argument, d);
  }
  /// Sends one step.
  /// @par Callers the lane that opened the operation
  /// @par Order the caller's earlier writes to the buffer are visible to the NIC
  /// @par Errors would_block: every request slot is in use; nothing was sent. Any other failure is
  /// the operation's, too
  GNSTOR_HD status try_add(ticket operation, detail::io_step step) const {
    step.operation = operations_.slot_of(operation);
    operations_.begin_turn(step);
    operations_.add_step(step.operation);
    const result<ticket> sent = channel_.submit_unawaited(step.command(), noted(step));
    if (sent) return status{};
    const bool full = sent.status.code == status_code::would_block;
    operations_.settle(step.operation, full ? status{} : sent.status);
    return sent.status;
  }
  /// As `try_add`, and waits for a request slot until the operation has to end.
  GNSTOR_HD status add(ticket operation, const detail::io_step& step) const {
    const std::uint64_t ends = operations_.ends_ns(operations_.slot_of(operation));
    for (until more{deadline::after(0, ends)}; more;) {
      const status sent = try_add(operation, step);
      if (sent.code != status_code::would_block) return sent;
      if (poll()) more.progressed();
    }
    return status::make(status_code::timed_out, reporter::channel);
  }
  /// All steps are sent; `s` is the outcome of what could not be.
  GNSTOR_HD void end(ticket operation, status s = {}) const {
    operations_.settle(operations_.slot_of(operation), s);
  }

  /// Ends an operation that got no step.
  GNSTOR_HD void cancel(ticket operation) const { operations_.cancel(operation); }

  /// Takes completions and acts on one answered step. True if anything moved.
  /// @par Callers any lane, converged or not
  GNSTOR_HD bool poll() const { return poll(channel_.companions()); }

  /// Waits for an operation without callback.
  /// @par Callers one lane, of any warp, once
  /// @par Order on success the operation's data is visible to the caller
  /// @par Bound `d`; after that the operation ends by itself, and its buffer must not be reused
  /// @par Errors timed_out; otherwise the first failed step's status
  GNSTOR_HD status wait(ticket operation, deadline d) const {
    status outcome = status::make(status_code::would_block, reporter::channel);
    const simt::group company = channel_.companions();
    const bool ended = simt::step_together(company, d, [&](bool done) {
      if (!done) outcome = operations_.take(operation);
      (void)poll(company);
      return outcome.code != status_code::would_block;
    });
    if (ended) return outcome;
    for (until more{d}; more;) {
      outcome = operations_.take(operation);
      if (outcome.code != status_code::would_block) return outcome;
      if (poll()) more.progressed();
    }
    const status last = operations_.take(operation);
    if (last.code != status_code::would_block) return last;
    if (!operations_.abandon(operation)) return operations_.take(operation);
    return status::make(status_code::timed_out, reporter::channel);
  }
  /// The operation's outcome if it has ended, else would_block; does not poll.
  /// @par Callers as `wait`, until the outcome is there, or `wait` ends the asking
  GNSTOR_HD status take(ticket operation) const { return operations_.take(operation); }
  /// The operation's outcome if it has ended, else would_block; polls.
  /// @par Callers as `wait`; until the outcome is there, or `wait` ends the asking
  GNSTOR_HD status try_wait(ticket operation) const {
    (void)poll();
    return operations_.take(operation);
  }

  /// Polls, and calls the callback of one operation that has ended. True if it did.
  /// @par Callers any lane, converged or not; each lane calls another operation's callback
  /// @par Order what the operation read is visible to its callback
  template <class Table>
  GNSTOR_HD bool dispatch(const Table& callbacks) const {
    (void)poll();
    if (!operations_.exists()) return false;
    const result<ticket> ended = operations_.take_called();
    if (!ended) return false;
    const callback_id which = operations_.callback_of(ended.value);
    io_event e;
    e.outcome = operations_.take_ended(ended.value, &e.argument);
    callbacks(which, e);
    return true;
  }

  /// What a lane does that only wants a request slot: takes completions, and frees the slot of one
  /// step that was answered and need not go on elsewhere. True if anything moved.
  /// @par Callers any lane, converged or not
  GNSTOR_HD bool make_room() const {
    const bool took = channel_.poll();
    return free_slot() || took;
  }

  /// Operations that go on or wait to be taken, for figures.
  GNSTOR_HD std::uint32_t in_use() const { return operations_.in_use(); }

 private:
  GNSTOR_HD bool poll(const simt::group& company) const {
    const bool took = channel_.poll(company);
    const bool acts = operations_.exists();
    const bool acted = acts && settle_one();
    if (took || acted) return true;
    if constexpr (Channel::defers) channel_.commit();
    return acts && expire_one();
  }

  struct answered_step {
    ticket request;
    detail::io_step step;
    status answer;
  };
  /// Takes one step that was answered, if there is one; it is the caller's alone then.
  GNSTOR_HD bool take_answered(answered_step& a) const {
    const result<ticket> got = requests_.take_answered();
    if (!got) return false;
    a.request = got.value;
    a.step = operations_.steps().read(requests_.slot_of(got.value));
    a.answer = requests_.outcome(got.value);
    return true;
  }
  GNSTOR_HD void settle(const answered_step& a) const {
    (void)requests_.take(a.request);
    operations_.settle(a.step.operation, a.step.ended(a.answer));
  }
  GNSTOR_HD_SLOW bool free_slot() const {
    answered_step a;
    if (!take_answered(a)) return false;
    if (may_go_on(a.step, a.answer)) {
      requests_.put_back(a.request);
      return false;
    }
    settle(a);
    return true;
  }

  /// Acts on one step that was answered: settles it, or sends it to the next SSD.
  GNSTOR_HD_SLOW bool settle_one() const {
    answered_step a;
    if (!take_answered(a)) return false;
    if (!may_go_on(a.step, a.answer)) {
      settle(a);
      return true;
    }
    go_on(a.step, a.answer);
    const ticket renewed = requests_.renew(a.request);
    if (channel_.submit_claimed(renewed, a.step.command(), noted(a.step))) return true;
    requests_.put_back(renewed);
    return false;
  }

  /// Looks at one request slot, drawn by the clock: is its step's time up, or its channel dead?
  GNSTOR_HD_SLOW bool expire_one() const {
    const std::uint64_t now = simt::now_ns();
    const std::uint64_t drawn = mix64(now + simt::group::lane());
    // The backstop of handover_ring's bound: nobody else may ring for requests that nobody awaits.
    if (drawn >> 56 == 0) channel_.queue().ring();
    const auto slot = static_cast<std::uint32_t>(drawn) & (channel_.queue().depth() - 1);
    const std::uint64_t phase = requests_.pending_phase(slot);
    detail::io_step step;
    if (phase == 0 || !operations_.steps().read(slot, phase, step)) return false;
    const bool lost = channel_.life().is_lost(requests_.ticket_of(slot));
    if (!lost && now < step.expires_ns) return false;
    status why = lost ? channel_.life().broken_status()
                      : status::make(status_code::timed_out, reporter::channel);
    // The next request first: without room for it this one stays, and is asked again.
    result<ticket> next = status{};
    const bool again = may_go_on(step, why);
    if (again) next = requests_.claim();
    if (!next.status.ok()) return false;
    why = channel_.life().give_up_exactly(slot, phase, why);
    if (why.code == status_code::would_block) {
      if (again) requests_.cancel(next.value);
      return false;
    }
    if (!lost) device_word<std::uint64_t>(channel_.counters().timed_out).fetch_add(1, relaxed);
    if (again) {
      detail::io_step onward = step;
      go_on(onward, why);
      if (channel_.submit_claimed(next.value, onward.command(), noted(onward))) return true;
      requests_.cancel(next.value);
    }
    status outcome = step.ended(why);
    if (outcome.code == status_code::timed_out) outcome.ssd = step.ssd().value;
    operations_.settle(step.operation, outcome);
    return true;
  }

  GNSTOR_HD bool may_go_on(const detail::io_step& step, status answer) const {
    // Not when the operation's time is up: where there is no room to go on it would never end.
    return step.goes_on(answer) && channel_.phase() == channel_phase::ready &&
           simt::now_ns() < operations_.ends_ns(step.operation);
  }
  GNSTOR_HD void go_on(detail::io_step& step, status answer) const {
    step.go_on(answer);
    operations_.begin_turn(step);
  }
  /// Writes a step down under the slot of its request.
  GNSTOR_HD auto noted(const detail::io_step& step) const {
    return [steps = operations_.steps(), &step](std::uint32_t slot, std::uint64_t phase) {
      steps.write(slot, step, phase);
    };
  }

  Channel channel_;
  request_list requests_;
  operation_list operations_;
};

}  // namespace gnstor::inline v0
