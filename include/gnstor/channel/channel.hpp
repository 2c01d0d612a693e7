#pragma once

#include <gnstor/channel/async_io.hpp>
#include <gnstor/channel/completion_handler.hpp>
#include <gnstor/channel/connect_options.hpp>
#include <gnstor/channel/doorbell/leader_warp.hpp>
#include <gnstor/channel/request_table.hpp>
#include <gnstor/simt/step_together.hpp>
#include <gnstor/wire/fabrics/connect.hpp>
#include <gnstor/wire/nvme/opcode.hpp>

#include <cuda/std/bit>

namespace gnstor::inline v0 {

/// The unit of parallel I/O: one queue pair, the requests in flight on it, and their state.
///
/// Any number of lanes use a channel at once. It is a reference: trivially copyable, passed by
/// value, and it owns nothing; `host::session` owns what it points to. Every status reaches the
/// lane that asked.
/// @tparam Doorbell when the NIC is told; `with` gives the same channel under another policy
template <queue_pair QP, doorbell_policy Doorbell = doorbell::leader_warp>
class channel {
  static constexpr thread_scope scope = thread_scope_device;
  using table = request_table<scope>;
  friend class async_io<channel>;
  /// Looks for a free slot to one at the completion queue: who has a request in flight takes its
  /// answer soonest.
  static constexpr std::uint32_t looks_a_poll = 4;
  /// Requests may be published and yet unknown to the NIC.
  static constexpr bool defers = Doorbell::may_wait != 0;

 public:
  using queue_pair_type = QP;
  using doorbell_type = Doorbell;
  using ticket_type = ticket;

  /// Bytes of zero-filled memory for a channel of `depth` requests, beside its queue pair's.
  GNSTOR_HD static constexpr std::uint64_t bytes(std::uint32_t depth, bool asynchronous = true) {
    return operations_at(depth) + (asynchronous ? operation_table<scope>::bytes(depth) : 0);
  }

  /// @param memory `bytes(depth, asynchronous)`
  /// @param asynchronous `async()` can begin operations
  GNSTOR_HD channel(QP qp, void* memory, bool asynchronous = true)
      : qp_(qp), state_(static_cast<channel_state*>(memory)), asynchronous_(asynchronous) {}

  /// This channel under another doorbell policy; lanes may use both at once.
  template <doorbell_policy Other>
  GNSTOR_HD channel<QP, Other> with() const {
    return channel<QP, Other>(qp_, state_, asynchronous_);
  }

  GNSTOR_HD const QP& queue() const { return qp_; }
  GNSTOR_HD channel_state& counters() const { return *state_; }
  GNSTOR_HD channel_phase phase() const { return phase_in(life().phase().load()); }

  /// Posts the receives and sends Fabrics Connect; the channel is ready when the target has
  /// accepted it.
  /// @param value if not null, dword 0 of the response: the controller id, or what was wrong
  /// @par Callers one lane, once
  /// @par Bound `d`
  /// @par Errors timed_out, nvme_error (the target's Connect status), transport_error; the channel
  /// then stays unusable
  GNSTOR_HD status connect(const connect_options& options, deadline d,
                           std::uint32_t* value = nullptr) const {
    qp_.post_receives();
    const auto data = wire::nvme::make_keyed_sgl(
        options.data.address, sizeof(wire::fabrics::connect_data), options.data.rkey);
    const auto connect = wire::fabrics::make_connect(0, options.queue_id, options.queue_entries,
                                                     data, options.keep_alive_ms,
                                                     static_cast<std::uint8_t>(options.priority));
    const auto command = cuda::std::bit_cast<wire::nvme::submission_entry>(connect);
    const status outcome = execute_in(channel_phase::connecting, command, d, value);
    if (outcome.ok()) (void)life().phase().open();
    return outcome;
  }

  /// Sends a command capsule; the command id is filled in. `Doorbell` says when the NIC is told.
  /// @par Callers any lane, in any company
  /// @par Result the ticket to wait for
  /// @par Order the caller's earlier writes to the buffer are visible to the NIC
  /// @par Errors would_block: every request slot is in use, or reached for (what they hold is
  /// announced now), poll and try again; not_ready, closed, flushed by phase
  GNSTOR_HD result<ticket> submit(const wire::nvme::submission_entry& command) const {
    const status usable = usable_in(channel_phase::ready);
    if (!usable.ok()) return usable;
    return send(command);
  }

  /// Sends one command of an asynchronous operation: nobody waits for its answer, `async().poll()`
  /// acts on it.
  /// @par Errors as `submit`
  GNSTOR_HD result<ticket> submit_part(const io_part& part) const {
    const status usable = usable_in(channel_phase::ready);
    if (!usable.ok()) return usable;
    if (!asynchronous_) return status::make(status_code::unsupported, reporter::channel);
    return send(part.command(), &part);
  }

  /// The asynchronous operations of this channel, if it was made for them.
  GNSTOR_HD async_io<channel> async() const {
    return async_io<channel>(*this, request_slots(), operations());
  }

  /// Announces what has been submitted, under a policy that lets requests wait for a doorbell.
  /// @par Callers any lane, in any company: the caller's own requests are among those announced,
  /// unless a lane of another warp is still writing an earlier one; `wait` sees to those
  GNSTOR_HD void commit() const {
    if (companions().leads()) announce_published();
  }

  /// Takes completions from the queue and delivers them to whoever asked. True if this lane
  /// delivered one.
  /// @par Callers any lane, in any company
  GNSTOR_HD bool poll() const { return poll(companions()); }

  /// What a lane does that needs a request slot: takes completions, and frees a slot that nobody
  /// waits for. True if anything moved.
  /// @par Callers any lane, in any company
  GNSTOR_HD bool make_room() const {
    const bool took = poll();
    return async().make_room() || took;
  }

  /// Waits for the answer to `t`, announced if need be; delivers other lanes' answers meanwhile.
  /// @par Callers the owner of the ticket, once
  /// @par Order on success the payload that the peer wrote is visible to the caller
  /// @par Bound `d`; a request given up keeps its slot, and its buffer must not be reused, until
  /// the late answer
  /// @par Errors timed_out; nvme_error with the SSD's status; transport_error if this request
  /// killed the queue pair, flushed if another one did; reset if the channel was reset meanwhile
  GNSTOR_HD status wait(ticket t, deadline d, std::uint32_t* value = nullptr) const {
    const table requests = request_slots();
    status outcome = status::make(status_code::would_block, reporter::channel);
    std::uint32_t rounds = 0;
    bool told = false;
    bool moved = false;
    const auto look = [&](const simt::group& g, bool done) {
      told = told || announce(t);
      const completion c = qp_.poll(g);
      if (!done && completions().take_own(t, c)) {
        if (value != nullptr) *value = c.response.dw0;
        outcome = response_status(c.response);
        return true;
      }
      moved = completions().deliver(c);
      if (!done) outcome = requests.take(t, value);
      const bool vain = outcome.code == status_code::would_block && !moved;
      if (vain && ++rounds % 256 == 0) {
        if (life().is_lost(t)) {
          outcome = give_up(t, broken_status(), value);
        } else {
          qp_.ring();  // the backstop of handover_ring's bound, and of a doorbell that was lost
        }
      }
      return outcome.code != status_code::would_block;
    };
    const simt::group company = companions();
    if (simt::step_together(company, d, [&](bool done) { return look(company, done); }))
      return outcome;
    for (until more{d}; more;) {
      if (look(companions(), false)) return outcome;
      if (moved) more.progressed();
    }
    const status last = requests.take(t, value);
    if (last.code != status_code::would_block) return last;
    if (life().is_lost(t)) return give_up(t, broken_status(), value);
    outcome = give_up(t, status::make(status_code::timed_out, reporter::channel), value);
    if (outcome.code == status_code::timed_out) count(state_->timed_out);
    return outcome;
  }

  /// The answer to `t` if it has been taken from the queue, else would_block.
  /// @par Callers the owner of the ticket, until the answer is there; `wait` ends the asking
  /// @par Order as `wait`
  GNSTOR_HD status take(ticket t) const { return request_slots().take(t); }

  /// The answer to `t` if it has come, else would_block; announces it if need be, and takes
  /// completions meanwhile.
  /// @param value if not null, dwords 0 and 1 of the response
  /// @par Callers the owner of the ticket, until the answer is there; `wait` ends the asking
  /// @par Order as `wait`
  /// @par Errors as `wait`; a request whose channel has died is given up
  GNSTOR_HD status try_wait(ticket t, std::uint64_t* value = nullptr) const {
    (void)announce(t);
    (void)poll();
    const status outcome = request_slots().take_wide(t, value);
    if (outcome.code != status_code::would_block || !life().is_lost(t)) return outcome;
    std::uint64_t both = 0;
    const status last = life().give_up(t, broken_status(), &both);
    if (value != nullptr) *value = both;
    return last;
  }

  /// Sends a command and waits for its answer; waits for a free slot too.
  /// @param value if not null, dword 0 of the response
  GNSTOR_HD status execute(wire::nvme::submission_entry command, deadline d,
                           std::uint32_t* value = nullptr) const {
    return execute_in(channel_phase::ready, command, d, value);
  }

  /// Ends the channel for new requests.
  GNSTOR_HD void close() const { life().phase().close(); }

 private:
  /// The lanes that run along and use this very channel: lanes of one warp may be on different
  /// ones. They meet where this is called, not here: a lane that sends must not be grouped with one
  /// that polls.
  GNSTOR_HD simt::group companions(const char* file = __builtin_FILE(),
                                   unsigned line = __builtin_LINE()) const {
    return simt::group::active(file, line).partition(reinterpret_cast<std::uint64_t>(state_));
  }
  GNSTOR_HD bool poll(const simt::group& company) const {
    return completions().deliver(qp_.poll(company));
  }
  GNSTOR_HD table request_slots() const { return table(state_ + 1, qp_.depth()); }
  GNSTOR_HD operation_table<scope> operations() const {
    auto* memory = reinterpret_cast<unsigned char*>(state_) + operations_at(qp_.depth());
    return operation_table<scope>(asynchronous_ ? memory : nullptr, qp_.depth());
  }
  GNSTOR_HD static constexpr std::uint64_t operations_at(std::uint32_t depth) {
    return (sizeof(channel_state) + table::bytes(depth) + 63) / 64 * 64;
  }
  GNSTOR_HD status usable() const { return usable_in(channel_phase::ready); }
  GNSTOR_HD detail::completion_handler<QP> completions() const {
    return {qp_, *state_, request_slots()};
  }
  GNSTOR_HD detail::channel_life life() const { return {*state_, request_slots()}; }
  GNSTOR_HD status broken_status() const { return life().broken_status(); }
  GNSTOR_HD status usable_in(channel_phase wanted) const {
    const channel_phase p = phase();
    if (p == wanted) return status{};
    if (p == channel_phase::error) {
      status refused = broken_status();
      refused.by = reporter::channel;
      return refused;
    }
    return status::make(p == channel_phase::closed ? status_code::closed : status_code::not_ready,
                        reporter::channel);
  }

  GNSTOR_HD status execute_in(channel_phase wanted, const wire::nvme::submission_entry& command,
                              deadline d, std::uint32_t* value) const {
    slot_patience patience = slot_patience::fresh();
    std::uint64_t since = 0;
    std::uint32_t looks = 0;
    for (until more{d}; more;) {
      const status usable = usable_in(wanted);
      if (!usable.ok()) return usable;
      const result<ticket> sent = send(command, nullptr, patience);
      if (sent) return wait(sent.value, d, value);
      if (sent.status.code != status_code::would_block) return sent.status;
      const std::uint64_t now = simt::now_ns();
      if (looks == 0) {
        since = now;
        patience.begin(now, d, request_slots().patience_ns());
      } else {
        patience.go_on(now - since);
      }
      if (++looks % looks_a_poll == 0 && make_room()) more.progressed();
    }
    return status::make(status_code::timed_out, reporter::channel);
  }

  GNSTOR_HD result<ticket> send(const wire::nvme::submission_entry& command,
                                const io_part* part = nullptr, slot_patience patience = {}) const {
    const simt::group company = companions();
    const result<ticket> claimed = request_slots().claim(company, patience);
    const bool has_slot = claimed.status.ok();
    const simt::group senders =
        company.all(has_slot) ? company : company.partition(static_cast<std::uint32_t>(has_slot));
    if (claimed && post(senders, claimed.value, command, part)) return claimed;
    if (claimed) request_slots().cancel(claimed.value);
    if (defers && senders.leads()) announce_published();
    return claimed ? status::make(status_code::would_block, reporter::channel) : claimed.status;
  }
  /// Sends a part under a slot that is claimed already. False if the queue has no room: the slot
  /// stays claimed.
  GNSTOR_HD bool send_claimed(ticket claimed, const io_part& part) const {
    return post(companions(), claimed, part.command(), &part);
  }
  /// Sends a part in the place of a request that was answered; gives that one back to
  /// `take_answered` if the queue has no room.
  GNSTOR_HD bool resend(ticket answered, const io_part& part) const {
    const ticket renewed = request_slots().renew(answered);
    if (post(companions(), renewed, part.command(), &part)) return true;
    request_slots().put_back(renewed);
    return false;
  }

  /// Posts the commands of `senders`, each under its claimed slot, with one doorbell. False if the
  /// queue has no room for all of them: nothing was posted.
  /// @par Callers every lane of `senders`, converged
  GNSTOR_HD bool post(const simt::group& senders, ticket claimed,
                      wire::nvme::submission_entry command, const io_part* part) const {
    result<std::uint64_t> first = status::make(status_code::would_block, reporter::channel);
    if (senders.leads()) first = qp_.try_reserve(senders.size());
    const bool granted = senders.broadcast(static_cast<std::uint32_t>(first.status.ok())) != 0;
    const std::uint64_t index = senders.broadcast(first.value) + senders.thread_rank();
    senders.sync();  // the leader's acquire of the free slots reaches the lanes that write them
    if (!granted) return false;
    command.command_id = claimed.id.value;
    request_slots().remember(claimed, {index, part != nullptr});
    if (part != nullptr) {
      operations().parts().write(request_slots().slot_of(claimed), *part,
                                 request_slots().phase_word(claimed));
    }
    qp_.write_send(index, command);
    publish(senders, index);
    return true;
  }

  /// Publishes the entries that the lanes of `senders` wrote, each its own `index`, and rings as
  /// the policy says.
  GNSTOR_HD void publish(const simt::group& senders, std::uint64_t index) const {
    if constexpr (Doorbell::each_lane) {
      qp_.publish(index, 1);
      qp_.ring();
      if (senders.leads()) count(state_->submitted, senders.size());
    } else {
      senders.sync();
      if (senders.leads()) {
        qp_.publish(index, senders.size());
        if (!defers || qp_.announced() + Doorbell::may_wait < qp_.published()) qp_.ring();
        count(state_->submitted, senders.size());
      }
      // A lane that returns may commit or wait: its request must be published by then. And lanes
      // that wait while one of them still publishes would keep it from doing so.
      senders.sync();
    }
  }
  GNSTOR_HD void announce_published() const {
    if (qp_.announced() < qp_.published()) qp_.ring();
  }
  /// True once the NIC has been told of request `t`; rings if not.
  GNSTOR_HD bool announce(ticket t) const {
    if constexpr (defers) {
      const result<request_place> sent = request_slots().recall(t.id);
      const std::uint64_t known = qp_.announced();
      if (!sent || sent.value.index < known) return true;
      if (known < qp_.published()) qp_.ring();
      return false;
    } else {
      return true;
    }
  }

  GNSTOR_HD status give_up(ticket t, status why, std::uint32_t* value) const {
    std::uint64_t both = 0;
    const status outcome = life().give_up(t, why, &both);
    if (value != nullptr) *value = static_cast<std::uint32_t>(both);
    return outcome;
  }

  GNSTOR_HD static void count(std::uint64_t& counter, std::uint64_t n = 1) {
    device_word<std::uint64_t>(counter).fetch_add(n, relaxed);
  }

  QP qp_;
  channel_state* state_;
  bool asynchronous_;
};

}  // namespace gnstor::inline v0
