#pragma once

#include <gnstor/channel/channel_layout.hpp>
#include <gnstor/channel/completion_handler.hpp>
#include <gnstor/channel/connect_options.hpp>
#include <gnstor/channel/doorbell/leader_warp.hpp>
#include <gnstor/simt/step_together.hpp>

namespace gnstor::inline v0 {

/// The unit of parallel I/O: one queue pair, the requests in flight on it, and their state.
///
/// Any number of lanes use a channel at once. It is a reference: trivially copyable, passed by
/// value, and it owns nothing; `host::session` owns what it points to. Every status reaches the
/// lane that asked.
/// @tparam Doorbell when the doorbell is rung; `with` gives the same channel under another policy
template <queue_pair QP, doorbell_policy Doorbell = doorbell::leader_warp>
class channel {
  static constexpr thread_scope scope = thread_scope_device;
  using table = detail::request_table<scope>;
  /// Looks for a free slot to one at the completion queue: who has a request in flight takes its
  /// answer soonest.
  static constexpr std::uint32_t looks_a_poll = 4;

 public:
  using queue_pair_type = QP;
  using doorbell_type = Doorbell;
  using ticket_type = ticket;
  /// Requests may be published and yet unknown to the NIC.
  static constexpr bool defers = Doorbell::may_wait != 0;

  /// Bytes of zero-filled memory for a channel of `depth` requests, beside its queue pair's.
  GNSTOR_HD static constexpr std::uint64_t bytes(std::uint32_t depth, bool asynchronous = true) {
    return detail::channel_layout(depth).bytes(asynchronous);
  }

  /// @param memory `bytes(depth, asynchronous)`
  /// @param asynchronous it has room for `async_io`
  GNSTOR_HD channel(QP qp, void* memory, bool asynchronous = true)
      : qp_(qp), state_(static_cast<channel_state*>(memory)), asynchronous_(asynchronous) {}

  /// This channel under another doorbell policy; lanes may use both at once.
  template <doorbell_policy Other>
  GNSTOR_HD channel<QP, Other> with() const {
    return channel<QP, Other>(qp_, state_, asynchronous_);
  }

  GNSTOR_HD const QP& queue() const { return qp_; }
  GNSTOR_HD channel_state& counters() const { return *state_; }
  GNSTOR_HD channel_phase phase() const { return phase_in(life_word()); }
  /// The phase, and how often the channel was reset: as in `channel_state::phase`.
  GNSTOR_HD std::uint32_t life_word() const { return life().phase().load(); }

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
    const status outcome = execute_in(channel_phase::connecting, options.command(), d, value,
                                      [this] { return poll(); });
    if (outcome.ok()) (void)life().phase().open();
    return outcome;
  }

  /// Sends a command capsule; the command id is filled in. `Doorbell` says when the doorbell is
  /// rung.
  /// @par Callers any lane, converged or not
  /// @par Result the ticket to wait for
  /// @par Order the caller's earlier writes to the buffer are visible to the NIC
  /// @par Errors would_block: every request slot is in use, or reached for (what they hold is
  /// announced now), poll and try again; not_ready, closed, flushed by phase
  GNSTOR_HD result<ticket> submit(const wire::nvme::submission_entry& command) const {
    const status usable = this->usable();
    if (!usable.ok()) return usable;
    return send(command, detail::slot_patience{}, nothing_to_note{});
  }

  /// Announces what has been submitted, under a policy that lets requests wait for a doorbell.
  /// @par Callers any lane, converged or not: the caller's own requests are among those announced,
  /// unless a lane of another warp is still writing an earlier one; `wait` sees to those
  GNSTOR_HD void commit() const {
    if (companions().leads()) announce_published();
  }

  /// Takes completions from the queue and delivers them to whoever asked. True if this lane
  /// delivered one.
  /// @par Callers any lane, converged or not
  GNSTOR_HD bool poll() const { return poll(companions()); }

  /// Waits for the answer to `t`, announced if need be; delivers other lanes' answers meanwhile.
  /// @par Callers the owner of the ticket, once
  /// @par Order on success the payload that the peer wrote is visible to the caller
  /// @par Bound `d`; a request given up keeps its slot, and its buffer must not be reused, until
  /// the late answer
  /// @par Errors timed_out; nvme_error with the SSD's status; transport_error if this request
  /// killed the queue pair, flushed if another one did; reset if the channel was reset meanwhile
  GNSTOR_HD status wait(ticket t, deadline d, std::uint32_t* value = nullptr) const {
    status outcome = status::make(status_code::would_block, reporter::channel);
    std::uint32_t rounds = 0;
    bool rung = false;
    bool moved = false;
    const auto look = [&](const simt::group& g, bool done) {
      rung = rung || announce(t);
      const completion c = qp_.poll(g);
      if (!done && completions().take_own(t, c)) {
        if (value != nullptr) *value = c.response.dw0;
        outcome = detail::response_status(c.response);
        return true;
      }
      moved = completions().deliver(c);
      if (!done) outcome = requests().take(t, value);
      const bool vain = outcome.code == status_code::would_block && !moved;
      if (vain && ++rounds % 256 == 0) {
        if (life().is_lost(t)) {
          outcome = give_up(t, life().broken_status(), value);
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
    const status last = requests().take(t, value);
    if (last.code != status_code::would_block) return last;
    if (life().is_lost(t)) return give_up(t, life().broken_status(), value);
    outcome = give_up(t, status::make(status_code::timed_out, reporter::channel), value);
    if (outcome.code == status_code::timed_out) count(state_->timed_out);
    return outcome;
  }

  /// The answer to `t` if it has been taken from the queue, else would_block.
  /// @par Callers the owner of the ticket, until the answer is there; `wait` ends the asking
  /// @par Order as `wait`
  GNSTOR_HD status take(ticket t) const { return requests().take(t); }

  /// The answer to `t` if it has come, else would_block; announces it if need be, and takes
  /// completions meanwhile.
  /// @param value if not null, dwords 0 and 1 of the response
  /// @par Callers the owner of the ticket, until the answer is there; `wait` ends the asking
  /// @par Order as `wait`
  /// @par Errors as `wait`; a request whose channel has died is given up
  GNSTOR_HD status try_wait(ticket t, std::uint64_t* value = nullptr) const {
    (void)announce(t);
    (void)poll();
    const status outcome = requests().take_wide(t, value);
    if (outcome.code != status_code::would_block || !life().is_lost(t)) return outcome;
    std::uint64_t both = 0;
    const status last = life().give_up(t, life().broken_status(), &both);
    if (value != nullptr) *value = both;
    return last;
  }

  /// Sends a command and waits for its answer; waits for a free slot too.
  /// @param value if not null, dword 0 of the response
  GNSTOR_HD status execute(const wire::nvme::submission_entry& command, deadline d,
                           std::uint32_t* value = nullptr) const {
    return execute_in(channel_phase::ready, command, d, value, [this] { return poll(); });
  }
  /// The same where slots may be held by requests that no lane waits for.
  /// @param make_room `make_room()` polls, and frees such a slot; true if anything moved
  template <class Room>
  GNSTOR_HD status execute_making_room(const wire::nvme::submission_entry& command, deadline d,
                                       const Room& make_room) const {
    return execute_in(channel_phase::ready, command, d, nullptr, make_room);
  }

  /// Ends the channel for new requests.
  GNSTOR_HD void close() const { life().phase().close(); }

  // What io/ builds asynchronous I/O from: requests that no lane waits for. Whoever collects one
  // with `requests().take_answered()` finds what was noted of it under its slot.

  /// Sends such a request.
  /// @param note `note(slot, phase)` writes down what it takes to carry it on, before it is sent:
  /// `phase` is its slot's word, which never comes back
  /// @par Errors as `submit`
  template <class Note>
  GNSTOR_HD result<ticket> submit_unawaited(const wire::nvme::submission_entry& command,
                                            const Note& note) const {
    const status usable = this->usable();
    if (!usable.ok()) return usable;
    return send(command, detail::slot_patience{}, note);
  }
  /// Sends such a request under a slot that is the caller's: claimed, or renewed. False if the
  /// queue has no room: it still is.
  template <class Note>
  GNSTOR_HD bool submit_claimed(ticket claimed, const wire::nvme::submission_entry& command,
                                const Note& note) const {
    return post(companions(), claimed, command, note);
  }
  GNSTOR_HD table requests() const { return layout().requests_of(*state_); }
  /// The memory for such requests, `channel_layout::steps` and what follows; null if there is none.
  GNSTOR_HD void* step_memory() const {
    return asynchronous_ ? reinterpret_cast<unsigned char*>(state_) + layout().steps() : nullptr;
  }
  GNSTOR_HD detail::channel_life life() const { return {*state_, requests()}; }
  /// ok if the channel is ready; else why it sends nothing.
  GNSTOR_HD status usable() const { return life().usable_in(channel_phase::ready); }
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

 private:
  /// Of a request that a lane waits for nothing is noted.
  struct nothing_to_note {
    GNSTOR_HD void operator()(std::uint32_t, std::uint64_t) const {}
  };

  GNSTOR_HD detail::channel_layout layout() const { return detail::channel_layout(qp_.depth()); }
  GNSTOR_HD detail::completion_handler<QP> completions() const {
    return {qp_, *state_, requests()};
  }

  template <class Room>
  GNSTOR_HD status execute_in(channel_phase wanted, const wire::nvme::submission_entry& command,
                              deadline d, std::uint32_t* value, const Room& make_room) const {
    detail::slot_patience patience = detail::slot_patience::fresh();
    std::uint64_t since = 0;
    std::uint32_t looks = 0;
    for (until more{d}; more;) {
      const status usable = life().usable_in(wanted);
      if (!usable.ok()) return usable;
      const result<ticket> sent = send(command, patience, nothing_to_note{});
      if (sent) return wait(sent.value, d, value);
      if (sent.status.code != status_code::would_block) return sent.status;
      const std::uint64_t now = simt::now_ns();
      if (looks == 0) {
        since = now;
        patience.begin(now, d, requests().patience_ns());
      } else {
        patience.go_on(now - since);
      }
      if (++looks % looks_a_poll == 0 && make_room()) more.progressed();
    }
    return status::make(status_code::timed_out, reporter::channel);
  }

  template <class Note>
  GNSTOR_HD result<ticket> send(const wire::nvme::submission_entry& command,
                                detail::slot_patience patience, const Note& note) const {
    const simt::group company = companions();
    const result<ticket> claimed = requests().claim(company, patience);
    const bool has_slot = claimed.status.ok();
    const simt::group senders =
        company.all(has_slot) ? company : company.partition(static_cast<std::uint32_t>(has_slot));
    if (claimed && post(senders, claimed.value, command, note)) return claimed;
    if (claimed) requests().cancel(claimed.value);
    if (defers && senders.leads()) announce_published();
    return claimed ? status::make(status_code::would_block, reporter::channel) : claimed.status;
  }

  /// Posts the commands of `senders`, each under its claimed slot, with one doorbell. False if the
  /// queue has no room for all of them: nothing was posted.
  /// @par Callers every lane of `senders`, converged
  template <class Note>
  GNSTOR_HD bool post(const simt::group& senders, ticket claimed,
                      wire::nvme::submission_entry command, const Note& note) const {
    constexpr bool awaited = std::is_same_v<Note, nothing_to_note>;
    result<std::uint64_t> first = status::make(status_code::would_block, reporter::channel);
    if (senders.leads()) first = qp_.try_reserve(senders.size());
    const bool granted = senders.broadcast(static_cast<std::uint32_t>(first.status.ok())) != 0;
    const std::uint64_t index = senders.broadcast(first.value) + senders.thread_rank();
    senders.sync();  // the leader's acquire of the free slots reaches the lanes that write them
    if (!granted) return false;
    command.command_id = claimed.id.value;
    requests().remember(claimed, {index, !awaited});
    if constexpr (!awaited) note(requests().slot_of(claimed), requests().phase_word(claimed));
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
  /// True once request `t` was announced to the NIC; rings the doorbell if not.
  GNSTOR_HD bool announce(ticket t) const {
    if constexpr (defers) {
      const result<detail::request_position> sent = requests().recall(t.id);
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
