#pragma once

#include <gnstor/channel/channel_refusal.hpp>
#include <gnstor/channel/memory_channel_state.hpp>
#include <gnstor/channel/phase_word.hpp>
#include <gnstor/channel/transfer_ticket.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/qp/queue_pair.hpp>
#include <gnstor/simt/step_together.hpp>

namespace gnstor::inline v0 {

/// One-sided transfers over one queue pair: RDMA READ and WRITE between registered memory of this
/// side and of the peer, whose CPU has no part in them.
///
/// Any number of lanes use a channel at once. It is a reference: trivially copyable, passed by
/// value. Every transfer is signalled, and a reliable connection completes them in order. So a
/// waiting lane compares the index of its transfer with one shared index, whoever took the
/// completion, and a transfer that was given up can be asked about later.
///
/// Transfers under way at the same time have no order among themselves, also where they overlap: a
/// transfer that is to come after another is submitted after the wait for that one.
template <one_sided_queue_pair QP>
class memory_channel {
 public:
  using queue_pair_type = QP;
  using ticket_type = transfer_ticket;

  /// Bytes of zero-filled memory of a channel, beside its queue pair's, at a multiple of 128.
  GNSTOR_HD static constexpr std::uint64_t bytes() { return sizeof(memory_channel_state); }

  GNSTOR_HD memory_channel(QP qp, void* memory)
      : qp_(qp), state_(static_cast<memory_channel_state*>(memory)) {}

  GNSTOR_HD const QP& queue() const { return qp_; }
  GNSTOR_HD memory_channel_state& state() const { return *state_; }
  /// `completed` counts transfers that succeeded, `broken` the other completions; `late` and
  /// `unknown` stay 0.
  GNSTOR_HD channel_state& counters() const { return state_->common; }
  GNSTOR_HD channel_phase phase() const { return phase_in(life().load()); }

  /// The queue pair is joined to its peer: transfers may be submitted.
  /// @par Callers one lane, once; also the host, before a kernel uses the channel
  GNSTOR_HD void open() const { (void)life().open(); }
  /// Ends the channel for new transfers.
  GNSTOR_HD void close() const { life().close(); }

  /// Begins a transfer. Lanes that come together ring the doorbell once.
  /// @par Callers any lane, converged or not
  /// @par Result the ticket to wait for, or to ask for at any time
  /// @par Order the caller's earlier writes to local memory are visible to the NIC
  /// @par Bound that of `queue_pair::try_reserve`, 6 times
  /// @par Errors would_block: the queue has no room, poll and try again; not_ready, closed, flushed
  /// by phase; nothing was sent then
  GNSTOR_HD result<transfer_ticket> submit(const one_sided& transfer) const {
    const status usable = this->usable();
    if (!usable.ok()) return usable;
    return post(companions(), transfer);
  }

  /// Takes completions from the queue. True if there was any for this lane.
  /// @par Callers any lane, converged or not
  /// @par Order what was transferred is released to `try_wait` and `wait`
  /// @par Bound one look
  GNSTOR_HD bool poll() const { return poll(companions()); }

  /// Waits for the end of `t`; takes completions meanwhile.
  /// @par Callers any lane, for each ticket as often as it likes
  /// @par Result ok: the transfer is done, and neither memory is used any more
  /// @par Order after `ok` what was read is visible to the caller, and what was written is at the
  /// peer
  /// @par Bound `d`
  /// @par Errors timed_out: its memory is in use until a later `try_wait` says ok; transport_error
  /// with the NIC's syndrome if this transfer killed the queue pair, flushed if another one did;
  /// reset if the channel was made again since, and it is not known to have been done before:
  /// nothing of it happens any more
  GNSTOR_HD status wait(transfer_ticket t, deadline d) const {
    status outcome = pending();
    std::uint32_t vain = 0;
    bool moved = false;
    const auto look = [&](const simt::group& g, bool done) {
      moved = poll(g);
      if (!done) outcome = take(t);
      // The backstop of handover_ring's bound, and of a doorbell that was lost.
      if (!moved && outcome.code == status_code::would_block && ++vain % 256 == 0) qp_.ring();
      return outcome.code != status_code::would_block;
    };
    const simt::group company = companions();
    if (simt::step_together(company, d, [&](bool done) { return look(company, done); }))
      return outcome;
    for (until more{d}; more;) {
      if (look(companions(), false)) return outcome;
      if (moved) more.progressed();
    }
    const status last = take(t);
    if (last.code != status_code::would_block) return last;
    count(state_->common.timed_out);
    return status::make(status_code::timed_out, reporter::channel);
  }

  /// The end of `t` if it has come, else would_block; takes completions meanwhile.
  /// @par Callers, Order, Errors as `wait`, but it does not wait
  GNSTOR_HD status try_wait(transfer_ticket t) const {
    (void)poll();
    return take(t);
  }

  /// Does a transfer and waits for it; waits for room in the queue too.
  /// @par Callers any lane, converged or not
  /// @par Order as `submit` and `wait`
  /// @par Bound `d`
  /// @par Errors those of `submit` and `wait`; no_memory if there was no room in time: nothing was
  /// sent then
  GNSTOR_HD status execute(const one_sided& transfer, deadline d) const {
    for (until more{d}; more;) {
      const result<transfer_ticket> sent = submit(transfer);
      if (sent) return wait(sent.value, d);
      if (sent.status.code != status_code::would_block) return sent.status;
      if (poll()) more.progressed();
    }
    return status::make(status_code::no_memory, reporter::channel);
  }

 private:
  using word = device_word<std::uint64_t>;

  GNSTOR_HD static status pending() {
    return status::make(status_code::would_block, reporter::channel);
  }
  GNSTOR_HD detail::phase_word life() const { return detail::phase_word(state_->common); }
  /// ok if the channel is ready; else why it sends nothing.
  GNSTOR_HD status usable() const {
    const channel_phase now = phase();
    if (now == channel_phase::ready) return status{};
    return detail::refusal(now, word(state_->common.first_error).load(relaxed));
  }
  /// The lanes that run along and use this very channel. They meet where this is called, not here:
  /// a lane that sends must not be grouped with one that polls.
  GNSTOR_HD simt::group companions(const char* file = __builtin_FILE(),
                                   unsigned line = __builtin_LINE()) const {
    return simt::group::active(file, line).partition(reinterpret_cast<std::uint64_t>(state_));
  }

  /// Posts the transfers of as many lanes of `senders` as the queue has room for, with one
  /// doorbell.
  /// @par Callers every lane of `senders`, converged
  GNSTOR_HD result<transfer_ticket> post(const simt::group& senders, const one_sided& t) const {
    std::uint32_t granted = 0;
    std::uint64_t index = 0;
    if (senders.leads()) granted = reserve_most(senders.size(), index);
    granted = senders.broadcast(granted);
    index = senders.broadcast(index) + senders.thread_rank();
    senders.sync();  // the leader's acquire of the free entries reaches the lanes that write them
    const bool sends = senders.thread_rank() < granted;
    if (sends) qp_.write_one_sided(index, t);
    senders.sync();
    if (senders.leads() && granted != 0) {
      qp_.publish(index, granted);
      qp_.ring();
      count(state_->common.submitted, granted);
    }
    // Lanes that wait while one of them still publishes would keep it from doing so.
    senders.sync();
    if (!sends) return pending();
    return transfer_ticket{index};
  }
  /// Reserves up to `wanted` entries: all, or the half that fits, or the half of that. How many.
  /// @param first the first of them
  GNSTOR_HD std::uint32_t reserve_most(std::uint32_t wanted, std::uint64_t& first) const {
    for (std::uint32_t n = wanted < qp_.depth() ? wanted : qp_.depth(); n != 0; n /= 2) {
      const result<std::uint64_t> got = qp_.try_reserve(n);
      first = got.value;
      if (got) return n;
    }
    return 0;
  }

  /// Takes completions with the lanes of `g`.
  /// @par Callers every lane of `g`, converged
  GNSTOR_HD bool poll(const simt::group& g) const {
    const completion c = qp_.poll(g);
    if (!g.any(c.kind != completion_kind::none)) return false;
    const std::uint32_t sent = g.ballot(c.kind == completion_kind::sent);
    // Lanes hold completions in their order: the last one speaks for all before it.
    if (c.kind == completion_kind::sent && sent >> g.thread_rank() == 1) {
      finish(c.index + 1);
      qp_.retire(c.index);
      count(state_->common.completed, static_cast<std::uint32_t>(cuda::std::popcount(sent)));
    }
    const bool bad = c.kind == completion_kind::failed || c.kind == completion_kind::broken;
    if (g.any(bad)) {
      // The transfer to blame first: nobody is to be flushed without the reason.
      if (bad && is_to_blame(c)) lose(c);
      g.sync();
      if (bad && !is_to_blame(c)) lose(c);
    }
    return c.kind != completion_kind::none;
  }
  /// Every transfer before `end` is done.
  GNSTOR_HD void finish(std::uint64_t end) const {
    // Paired with the acquire load in `take`. Whoever completed the last of them acquired the NIC's
    // writes for all: they come in order.
    word(state_->completed).fetch_max(end, release);
  }
  GNSTOR_HD static bool is_to_blame(const completion& c) {
    return c.kind == completion_kind::failed && c.outcome.code == status_code::transport_error;
  }
  /// The queue pair is dead.
  GNSTOR_HD_SLOW void lose(const completion& c) const {
    if (is_to_blame(c)) {
      finish(c.index);  // it is the first that failed
      word(state_->failed).store(c.index + 1, relaxed);
      // Paired with the acquire of a lane below, which may be the one to end the phase.
      word(state_->common.first_error).exchange(c.outcome.pack(), release);
    } else {
      // A lane that has taken the completion before this one may be about to say why.
      for (bounded looks{256}; looks && word(state_->common.first_error).load(acquire) == 0;)
        simt::pause();
      std::uint64_t none = 0;
      word(state_->common.first_error).compare_exchange(none, c.outcome.pack(), acq_rel);
    }
    (void)life().fail();  // releases all of that to who finds the phase
    // Last: a reset waits for it. Paired with the acquire load in `memory_channel_restart`.
    word(state_->common.broken).fetch_add(1, release);
  }

  /// The end of `t`, or would_block.
  GNSTOR_HD status take(transfer_ticket t) const {
    // Asked for together: the first load has no order.
    const std::uint32_t seen = device_word<std::uint32_t>(state_->common.phase).load(relaxed);
    const std::uint64_t done = word(state_->completed).load(acquire);
    if (done > t.index) return end_before(done, t);
    if (phase_in(seen) != channel_phase::error && resets_in(seen) == 0) return pending();
    return end_of(t);
  }
  /// How `t` ended, where the transfers before `done` are done: of the present life, unless it is
  /// one of a life before.
  GNSTOR_HD status end_before(std::uint64_t done, transfer_ticket t) const {
    // From one life to the next indices leap by more than the depth.
    if (done - t.index <= qp_.depth()) return status{};
    return t.index >= word(state_->first).load(acquire) ? status{} : former_end_of(t);
  }
  /// How a transfer ended that was sent before the last reset.
  GNSTOR_HD_SLOW status former_end_of(transfer_ticket t) const {
    const std::uint64_t end = word(state_->former_end).load(acquire);
    if (t.index < end && t.index >= word(state_->former_first).load(relaxed)) return status{};
    status gone = status::unpack(word(state_->common.last_error).load(relaxed));
    gone.code = status_code::reset;
    gone.by = reporter::channel;
    return gone;
  }
  /// How `t` ends on a queue pair that is dead, or was made again.
  GNSTOR_HD_SLOW status end_of(transfer_ticket t) const {
    const std::uint32_t now = life().load();
    if (resets_in(now) != 0 && t.index < word(state_->first).load(acquire)) return former_end_of(t);
    if (phase_in(now) != channel_phase::error) return pending();
    const std::uint64_t done = word(state_->completed).load(acquire);
    if (done > t.index) return end_before(done, t);
    const std::uint64_t why = word(state_->common.first_error).load(relaxed);
    if (why == 0) return pending();  // a reset is about to begin the next life, and says so then
    if (word(state_->failed).load(relaxed) == t.index + 1) return status::unpack(why);
    return detail::killed_by(why);
  }

  GNSTOR_HD static void count(std::uint64_t& counter, std::uint64_t n = 1) {
    word(counter).fetch_add(n, relaxed);
  }

  QP qp_;
  memory_channel_state* state_;
};

}  // namespace gnstor::inline v0
