#pragma once

#include "under_lock.hpp"
#include <gnstor/channel/channel.hpp>
#include <gnstor/qp/mlx5_queue_pair.hpp>

namespace gnstor::baseline {

/// What a CPU storage stack becomes when it is ported to a GPU as it is (GNStor, section 3): one
/// lock around the submission queue and one around completion polling.
///
/// Every lane takes the locks for itself, so that the lanes of a warp go one after another, each
/// with a doorbell of its own. Whoever polls takes all completions there are and marks their
/// requests; words under the locks are loads and stores. The interface is `channel`'s, as far as
/// `volume_ref` and the tests use it, and so are the bytes that the NIC sees.
template <queue_pair QP = mlx5_queue_pair<thread_scope_system, under_lock>>
class lock_channel {
  enum class phase_of_request : std::uint32_t { none, pending, done, abandoned };

  struct request {
    std::uint32_t state;    ///< command id << 8 | phase_of_request
    std::uint64_t index;    ///< send queue index
    std::uint64_t outcome;  ///< `status::pack()`, once it is done
    std::uint64_t value;    ///< dwords 0 and 1 of the response
  };
  struct header {
    channel_state counters;
    alignas(128) std::uint32_t submit_lock;
    std::uint32_t taken;  ///< request slots in use: the first of `order`
    alignas(128) std::uint32_t poll_lock;
  };

 public:
  using queue_pair_type = QP;

  /// Bytes of zero-filled memory for a channel of `depth` requests, beside its queue pair's.
  GNSTOR_HD static constexpr std::uint64_t bytes(std::uint32_t depth) {
    return sizeof(header) + depth * (sizeof(request) + sizeof(std::uint32_t));
  }

  GNSTOR_HD lock_channel(QP qp, void* memory) : qp_(qp), head_(static_cast<header*>(memory)) {}

  GNSTOR_HD const QP& queue() const { return qp_; }
  GNSTOR_HD channel_state& counters() const { return head_->counters; }
  GNSTOR_HD channel_phase phase() const { return phase_in(life_word()); }
  /// As `channel::life_word`; never reset.
  GNSTOR_HD std::uint32_t life_word() const { return phase_word().load(acquire); }
  /// Request slots that are not free; exact while nobody uses the channel.
  GNSTOR_HD std::uint32_t in_use() const { return head_->taken; }

  /// Takes over a queue pair that has been connected already.
  GNSTOR_HD void adopt() const { set_phase(channel_phase::ready); }

  /// As `channel::connect`.
  GNSTOR_HD status connect(const connect_options& options, deadline d) const {
    qp_.post_receives();
    const status outcome = execute_in(channel_phase::connecting, options.command(), d, nullptr);
    if (outcome.ok()) set_phase(channel_phase::ready);
    return outcome;
  }

  /// As `channel::submit`.
  /// @par Callers any lane, converged or not: one after another
  /// @par Bound waits for the lock, a minute at most
  GNSTOR_HD result<ticket> submit(const wire::nvme::submission_entry& command) const {
    const status usable = usable_in(channel_phase::ready);
    return usable.ok() ? send(command) : usable;
  }

  /// Takes all completions there are, 32 at most; true if there was one.
  /// @par Callers any lane, converged or not: one after another
  /// @par Bound waits for the lock, a minute at most
  GNSTOR_HD bool poll() const {
    bool any = false;
    (void)locked(head_->poll_lock, [&] {
      for (bounded n{32}; n;) {
        const completion c = qp_.poll(simt::group::self());
        if (c.kind == completion_kind::none) break;
        handle(c);
        any = true;
      }
    });
    return any;
  }

  /// As `channel::wait`.
  GNSTOR_HD status wait(ticket t, deadline d, std::uint32_t* value = nullptr) const {
    for (until more{d}; more;) {
      if (is(t, phase_of_request::done)) return take(t, value);
      if (phase() == channel_phase::error) return give_up(t, broken_status(), value);
      if (poll()) more.progressed();
    }
    const status outcome =
        give_up(t, status::make(status_code::timed_out, reporter::channel), value);
    if (outcome.code == status_code::timed_out)
      device_word<std::uint64_t>(counters().timed_out).fetch_add(1, relaxed);
    return outcome;
  }

  /// As `channel::execute`.
  GNSTOR_HD status execute(const wire::nvme::submission_entry& command, deadline d,
                           std::uint32_t* value = nullptr) const {
    return execute_in(channel_phase::ready, command, d, value);
  }

 private:
  GNSTOR_HD device_word<std::uint32_t> phase_word() const {
    return device_word<std::uint32_t>(counters().phase);
  }
  GNSTOR_HD void set_phase(channel_phase to) const {
    phase_word().store(static_cast<std::uint32_t>(to), release);
  }
  GNSTOR_HD status broken_status() const {
    status s = status::unpack(device_word<std::uint64_t>(counters().first_error).load(relaxed));
    s.code = status_code::flushed;
    return s;
  }
  GNSTOR_HD status usable_in(channel_phase wanted) const {
    const channel_phase p = phase();
    if (p == wanted) return status{};
    if (p == channel_phase::error) return broken_status();
    return status::make(p == channel_phase::closed ? status_code::closed : status_code::not_ready,
                        reporter::channel);
  }

  GNSTOR_HD request& request_of(std::uint32_t id) const {
    return reinterpret_cast<request*>(head_ + 1)[id & (qp_.depth() - 1)];
  }
  /// The `k`-th request slot of a permutation whose first `taken` are in use. Zero-filled memory is
  /// the identity.
  GNSTOR_HD std::uint32_t& slot_at(std::uint32_t k) const {
    return reinterpret_cast<std::uint32_t*>(reinterpret_cast<request*>(head_ + 1) + qp_.depth())[k];
  }
  GNSTOR_HD static device_word<std::uint32_t> state_of(request& r) {
    return device_word<std::uint32_t>(r.state);
  }
  GNSTOR_HD static std::uint32_t packed(command_id id, phase_of_request p) {
    return std::uint32_t{id.value} << 8 | static_cast<std::uint32_t>(p);
  }
  GNSTOR_HD bool is(ticket t, phase_of_request p) const {
    return state_of(request_of(t.id.value)).load(acquire) == packed(t.id, p);
  }

  /// Calls `work` under `lock`; false if the lock was not free in time.
  template <class Work>
  GNSTOR_HD static bool locked(std::uint32_t& lock, const Work& work) {
    const device_word<std::uint32_t> held(lock);
    for (until wait{simt::within(60'000'000'000)}; wait;) {
      // Acquire: pairs with the release below by the last holder.
      if (held.load(relaxed) != 0 || held.exchange(1, acquire) != 0) continue;
      work();
      held.store(0, release);
      return true;
    }
    return false;
  }

  GNSTOR_HD status execute_in(channel_phase wanted, const wire::nvme::submission_entry& command,
                              deadline d, std::uint32_t* value) const {
    for (until more{d}; more;) {
      const status usable = usable_in(wanted);
      if (!usable.ok()) return usable;
      const result<ticket> sent = send(command);
      if (sent) return wait(sent.value, d, value);
      if (poll()) more.progressed();
    }
    return status::make(status_code::timed_out, reporter::channel);
  }

  GNSTOR_HD result<ticket> send(wire::nvme::submission_entry command) const {
    result<ticket> sent = status::make(status_code::would_block, reporter::channel);
    (void)locked(head_->submit_lock, [&] {
      if (head_->taken == qp_.depth()) return;
      const result<std::uint64_t> index = qp_.try_reserve(1);
      if (!index) return;
      const std::uint32_t slot = slot_at(head_->taken) ^ head_->taken;
      ++head_->taken;
      request& r = request_of(slot);
      const auto before = static_cast<std::uint32_t>(state_of(r).load(relaxed) >> 8);
      const command_id id(
          static_cast<std::uint16_t>((before & ~(qp_.depth() - 1)) + qp_.depth() + slot));
      r.index = index.value;
      state_of(r).store(packed(id, phase_of_request::pending), relaxed);
      command.command_id = id.value;
      qp_.write_send(index.value, command);
      qp_.publish(index.value, 1);
      qp_.ring();
      add_one(counters().submitted);
      sent = ticket{id};
    });
    return sent;
  }

  /// Frees a slot whose request has been answered. A reliable connection delivers in order: it, and
  /// every earlier request, has left the send queue.
  GNSTOR_HD void free(request& r) const {
    (void)locked(head_->submit_lock, [&] {
      qp_.retire(r.index);
      const std::uint32_t slot = state_of(r).load(relaxed) >> 8 & (qp_.depth() - 1);
      --head_->taken;
      slot_at(head_->taken) = slot ^ head_->taken;
    });
  }

  // ---- under the poll lock

  GNSTOR_HD void handle(const completion& c) const {
    switch (c.kind) {
      case completion_kind::response: {
        const wire::nvme::completion_entry& e = c.response;
        return finish(command_id(e.command_id),
                      status::nvme(static_cast<std::uint8_t>(wire::nvme::status_type(e.status)),
                                   static_cast<std::uint8_t>(wire::nvme::status_code(e.status)), 0),
                      e.dw0 | std::uint64_t{e.dw1} << 32);
      }
      case completion_kind::failed: finish(qp_.sent_id(c.index), c.outcome, 0); [[fallthrough]];
      case completion_kind::broken: return break_down(c.outcome);
      default: return;
    }
  }
  GNSTOR_HD void finish(command_id id, status outcome, std::uint64_t value) const {
    request& r = request_of(id.value);
    const std::uint32_t state = state_of(r).load(relaxed);
    if (state == packed(id, phase_of_request::pending)) {
      r.outcome = outcome.pack();
      r.value = value;
      // Paired with the acquire load in `wait`.
      state_of(r).store(packed(id, phase_of_request::done), release);
      add_one(counters().completed);
    } else if (state == packed(id, phase_of_request::abandoned)) {
      state_of(r).store(packed(id, phase_of_request::none), relaxed);
      free(r);
      add_one(counters().late);
    } else {
      add_one(counters().unknown);
    }
  }
  GNSTOR_HD void break_down(status why) const {
    if (why.code != status_code::transport_error || phase() == channel_phase::error) return;
    device_word<std::uint64_t>(counters().first_error).store(why.pack(), relaxed);
    set_phase(channel_phase::error);
  }
  /// Counts under a lock; others may look.
  GNSTOR_HD static void add_one(std::uint64_t& counter) {
    const device_word<std::uint64_t> word(counter);
    word.store(word.load(relaxed) + 1, relaxed);
  }

  // ---- the waiter

  GNSTOR_HD status take(ticket t, std::uint32_t* value) const {
    request& r = request_of(t.id.value);
    const status outcome = status::unpack(r.outcome);
    if (value != nullptr) *value = static_cast<std::uint32_t>(r.value);
    free(r);
    return outcome;
  }
  /// Ends the wait for a request with `why`, or with its answer if that came in time after all.
  GNSTOR_HD status give_up(ticket t, status why, std::uint32_t* value) const {
    bool done = false;
    (void)locked(head_->poll_lock, [&] {
      done = is(t, phase_of_request::done);
      if (!done)
        state_of(request_of(t.id.value)).store(packed(t.id, phase_of_request::abandoned), relaxed);
    });
    return done ? take(t, value) : why;
  }

  QP qp_;
  header* head_;
};

static_assert(std::is_trivially_copyable_v<lock_channel<>>);

}  // namespace gnstor::baseline
