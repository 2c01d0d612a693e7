#pragma once

#include <gnstor/channel/channel.hpp>
#include <gnstor/channel/response_status.hpp>
#include <gnstor/qp/mlx5_queue_pair.hpp>
#include <gnstor/qp/sharing/exclusive.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::inline v0 {

/// A channel that belongs to one warp: its requests and indices are loads and stores, without a
/// read-modify-write, a mark or a lock. What remains of atomics is what the NIC needs.
///
/// It is a view of a connected `channel`'s memory, and a reference like it: the warp takes the
/// channel over while nothing is in flight on it, and gives it back by `release`. Every operation
/// is the whole group's: all lanes of it call converged, always the same group, and lanes without a
/// request say so. While it is taken over the host must not reset it.
template <queue_pair QP = mlx5_queue_pair<thread_scope_system, sharing::exclusive>,
          doorbell_policy Doorbell = doorbell::leader_warp>
class exclusive_channel {
  static_assert(QP::alone, "an exclusive channel needs a queue pair with sharing::exclusive");
  static_assert(!Doorbell::each_lane, "the leader of the warp rings for all of its lanes");
  static constexpr bool defers = Doorbell::may_wait != 0;

 public:
  using queue_pair_type = QP;
  using doorbell_type = Doorbell;

  GNSTOR_HD exclusive_channel(QP qp, channel_state* state) : qp_(qp), state_(state) {}
  /// Takes `shared` over.
  template <queue_pair Shared, doorbell_policy Other>
  GNSTOR_HD explicit exclusive_channel(const channel<Shared, Other>& shared)
      : exclusive_channel(shared.queue().template with<sharing::exclusive>(), &shared.counters()) {}

  template <doorbell_policy Other>
  GNSTOR_HD exclusive_channel<QP, Other> with() const {
    return {qp_, state_};
  }

  GNSTOR_HD const QP& queue() const { return qp_; }
  GNSTOR_HD channel_state& counters() const { return *state_; }
  GNSTOR_HD channel_phase phase() const { return phase_in(state_->phase); }

  /// Sends the command capsules of the lanes that want it; the command ids are filled in.
  /// @par Callers every lane of the owning group, converged
  /// @par Result each lane the ticket to wait for
  /// @par Order the lanes' earlier writes to their buffers are visible to the NIC
  /// @par Errors would_block: every request slot is in use, or the lane wanted nothing; not_ready,
  /// closed, flushed by phase
  GNSTOR_HD result<ticket> submit(const simt::group& g, wire::nvme::submission_entry command,
                                  bool wants = true) const {
    GNSTOR_ASSERT(is_owner(g));
    if (phase() != channel_phase::ready) return refusal();
    const result<ticket> mine = claim(g, wants);
    const std::uint32_t senders = g.ballot(mine.status.ok());
    const auto count = static_cast<std::uint32_t>(cuda::std::popcount(senders));
    if (count == 0) {
      if (defers) commit(g);
      return mine;
    }
    result<std::uint64_t> first = status::make(status_code::would_block, reporter::channel);
    if (g.leads()) first = qp_.try_reserve(count);
    const bool granted = g.broadcast(static_cast<std::uint32_t>(first.status.ok())) != 0;
    const std::uint64_t begin = g.broadcast(first.value);
    if (!granted) {
      if (mine) set(slot(mine.value), request_phase::free);
      return status::make(status_code::would_block, reporter::channel);
    }
    if (mine) {
      const std::uint64_t index = begin + before(g, senders);
      command.command_id = mine.value.id.value;
      slot(mine.value).index = index;
      qp_.write_send(index, command);
    }
    g.sync();
    if (g.leads()) {
      qp_.publish(begin, count);
      if (!defers || qp_.announced() + Doorbell::may_wait < qp_.published()) qp_.ring();
      state_->submitted += count;
    }
    return mine;
  }

  /// Announces what has been submitted, under a policy that lets requests wait for a doorbell.
  /// @par Callers every lane of the owning group, converged
  GNSTOR_HD void commit(const simt::group& g) const {
    if (g.leads() && qp_.announced() < qp_.published()) qp_.ring();
  }

  /// Takes up to one completion a lane and delivers them. True, for all lanes, if there was one.
  /// @par Callers every lane of the owning group, converged
  GNSTOR_HD bool poll(const simt::group& g) const {
    GNSTOR_ASSERT(is_owner(g));
    const completion c = qp_.poll(g);
    if (!g.any(c.kind != completion_kind::none)) return false;
    deliver(g, c);
    g.sync();  // what one lane delivered another takes
    return true;
  }

  /// Waits until each lane that wants to has the answer to its `t`, or has given up on it.
  /// @param value if not null, dword 0 of the response
  /// @par Callers every lane of the owning group, converged; they return together
  /// @par Order on success the payload that the peer wrote is visible to the whole group
  /// @par Bound the latest `d`
  /// @par Errors as `channel::wait`; ok for a lane that waits for nothing
  GNSTOR_HD status wait(const simt::group& g, ticket t, deadline d, std::uint32_t* value = nullptr,
                        bool waits = true) const {
    if (defers) commit(g);
    status outcome;
    bool open = waits;
    for (until more{d}; g.any(open);) {
      const bool in_time = static_cast<bool>(more);
      if (poll(g)) more.progressed();
      const status now = look(g, t, open, in_time, value);
      if (open) outcome = now;
      open = open && now.code == status_code::would_block;
    }
    return outcome;
  }

  /// Sends the commands of the lanes that want it and waits for their answers; waits for free slots
  /// too.
  /// @par Callers, Order, Bound, Errors as `wait`
  GNSTOR_HD status execute(const simt::group& g, const wire::nvme::submission_entry& command,
                           deadline d, std::uint32_t* value = nullptr, bool wants = true) const {
    result<ticket> sent = status::make(status_code::would_block, reporter::channel);
    status outcome;
    bool open = wants;
    for (until more{d}; g.any(open);) {
      const bool in_time = static_cast<bool>(more);
      const bool sends = open && !sent;
      if (g.any(sends)) {
        const result<ticket> now = submit(g, command, sends);
        if (sends) sent = now;
      }
      if (defers) commit(g);
      if (poll(g)) more.progressed();
      const status now = look(g, sent.value, open && sent, in_time, value);
      if (open) outcome = sent ? now : sent.status;
      if (open && !sent && !in_time)
        outcome = status::make(status_code::timed_out, reporter::channel);
      open = open && outcome.code == status_code::would_block;
    }
    return outcome;
  }

  /// Gives the channel back: another warp, or `channel`, may take it over. Nothing is in flight but
  /// what was given up.
  /// @par Callers every lane of the owning group, converged
  /// @par Order releases the channel's words at device scope; who takes over acquires
  GNSTOR_HD void release(const simt::group& g) const {
    g.sync();
    if (g.leads()) device_word<std::uint32_t>(state_->owner).store(0, gnstor::release);
  }

 private:
  GNSTOR_HD request_slot* slots() const { return reinterpret_cast<request_slot*>(state_ + 1); }
  GNSTOR_HD std::uint32_t place(command_id id) const { return id.value & (qp_.depth() - 1); }
  GNSTOR_HD request_slot& slot(ticket t) const { return slots()[place(t.id)]; }
  GNSTOR_HD static request_phase phase_of(std::uint64_t phase) {
    return static_cast<request_phase>(phase & 0xff);
  }
  GNSTOR_HD static void set(request_slot& s, request_phase to) {
    s.phase = (s.phase & ~std::uint64_t{0xff}) | static_cast<std::uint64_t>(to);
  }
  GNSTOR_HD command_id id_of(std::uint64_t generation, std::uint32_t at) const {
    return command_id(static_cast<std::uint16_t>(generation * qp_.depth() + at));
  }

  /// True if this warp is the first to use the channel, or has used it before.
  GNSTOR_HD bool is_owner(const simt::group& g) const {
    if (!g.leads()) return true;
    const simt::lane<> here;
    const std::uint32_t me =
        here.block() * ((here.block_threads() + 31) / 32) + here.thread() / 32 + 1;
    std::uint32_t owner = 0;
    return device_word<std::uint32_t>(state_->owner).compare_exchange(owner, me, relaxed) ||
           owner == me;
  }
  GNSTOR_HD status broken() const {
    status s = status::unpack(state_->first_error);
    s.code = status_code::flushed;
    return s;
  }
  GNSTOR_HD status refusal() const {
    if (phase() == channel_phase::error) return broken();
    const bool closed = phase() == channel_phase::closed;
    return status::make(closed ? status_code::closed : status_code::not_ready, reporter::channel);
  }

  /// Claims a slot for each lane that wants one: the n-th of them takes the n-th that is free.
  GNSTOR_HD result<ticket> claim(const simt::group& g, bool wants) const {
    result<ticket> mine = status::make(status_code::would_block, reporter::channel);
    g.sync();  // slots that other lanes freed
    for (std::uint32_t row = 0; row < qp_.depth(); row += g.size()) {
      const bool asks = wants && !mine;
      const std::uint32_t asking = g.ballot(asks);
      if (asking == 0) break;
      const std::uint32_t at = row + g.thread_rank();
      const std::uint32_t open =
          g.ballot(at < qp_.depth() && phase_of(slots()[at].phase) == request_phase::free);
      g.sync();  // all have looked before one of them claims
      const std::uint32_t turn = before(g, asking);
      if (!asks || turn >= static_cast<std::uint32_t>(cuda::std::popcount(open))) continue;
      const std::uint32_t k = row + nth_bit(open, turn);
      slots()[k].phase += std::uint64_t{1} << 8;
      set(slots()[k], request_phase::pending);
      mine = ticket{id_of(slots()[k].phase >> 8, k)};
    }
    return mine;
  }
  /// The lanes of `mask` that rank before this one.
  GNSTOR_HD static std::uint32_t before(const simt::group& g, std::uint32_t mask) {
    return static_cast<std::uint32_t>(cuda::std::popcount(mask & ((1u << g.thread_rank()) - 1)));
  }
  /// The place of the `n`-th bit, from 0, that is set in `mask`.
  GNSTOR_HD static std::uint32_t nth_bit(std::uint32_t mask, std::uint32_t n) {
    if ((mask & (mask + 1)) == 0) return n;
    for (std::uint32_t k = 0; k < n; ++k) mask &= mask - 1;
    return static_cast<std::uint32_t>(cuda::std::countr_zero(mask));
  }
  /// The outcome of the lane's own request, or would_block.
  GNSTOR_HD status take(ticket t, std::uint32_t* value) const {
    request_slot& s = slot(t);
    if (phase_of(s.phase) != request_phase::done)
      return status::make(status_code::would_block, reporter::channel);
    if (value != nullptr) *value = static_cast<std::uint32_t>(s.value);
    set(s, request_phase::free);
    return status::unpack(s.outcome);
  }

  /// The outcome of the lane's request if it `waits` for one, or would_block; gives up on it where
  /// the time is over or the queue pair dead.
  GNSTOR_HD status look(const simt::group& g, ticket t, bool waits, bool in_time,
                        std::uint32_t* value) const {
    status outcome = status::make(status_code::would_block, reporter::channel);
    if (waits) outcome = take(t, value);
    const bool dead = phase() == channel_phase::error;
    const bool gave_up = waits && outcome.code == status_code::would_block && (dead || !in_time);
    if (!g.any(gave_up)) return outcome;
    if (gave_up) {
      set(slot(t), request_phase::abandoned);
      outcome = dead ? broken() : status::make(status_code::timed_out, reporter::channel);
    }
    // Requests given up keep their slots until the late answer: also for who takes the channel
    // over.
    const std::uint32_t late = g.ballot(gave_up && outcome.code == status_code::timed_out);
    if (g.leads()) state_->timed_out += static_cast<std::uint32_t>(cuda::std::popcount(late));
    note(g, g.ballot(gave_up), place(t.id), true);
    return outcome;
  }

  using answer = typename request_table<thread_scope_device>::answer;

  /// Delivers one completion a lane.
  GNSTOR_HD void deliver(const simt::group& g, const completion& c) const {
    const bool answered = c.kind == completion_kind::response;
    const bool failed = c.kind == completion_kind::failed;
    const command_id id(answered ? c.response.command_id
                        : failed ? qp_.capsule(c.index).command_id
                                 : std::uint16_t{0});
    // Of an answer and its duplicate, taken at the same time, one is delivered.
    const std::uint32_t nobody = 0x10000 + g.thread_rank();
    const bool first = g.partition(answered || failed ? id.value : nobody).leads();
    const std::uint64_t seen = answered || failed ? slots()[place(id)].phase : 0;
    g.sync();  // all have looked before one of them answers: a late duplicate may name the same
               // slot
    std::uint64_t left = c.kind == completion_kind::sent ? c.index + 1 : 0;
    answer met = answer::unknown;
    if ((answered || failed) && first) {
      met = settle(id, seen, c);
      // A reliable connection delivers in order: whoever answers has received every earlier one.
      if (answered && met != answer::unknown) left = slots()[place(id)].index + 1;
    }
    left = greatest(g, left);
    const std::uint32_t delivered = g.ballot(met == answer::delivered);
    const std::uint32_t late = g.ballot(met == answer::late);
    const std::uint32_t unknown = g.ballot((answered || failed) && met == answer::unknown);
    const std::uint32_t broken = g.ballot(c.kind == completion_kind::broken);
    if (g.leads()) {
      if (left != 0) qp_.retire(left - 1);
      state_->completed += static_cast<std::uint32_t>(cuda::std::popcount(delivered));
      state_->late += static_cast<std::uint32_t>(cuda::std::popcount(late));
      state_->unknown += static_cast<std::uint32_t>(cuda::std::popcount(unknown));
      state_->broken += static_cast<std::uint32_t>(cuda::std::popcount(broken));
    }
    note(g, late, place(id), false);
    const std::uint32_t dead = g.ballot(c.outcome.code == status_code::transport_error);
    if (dead != 0) break_down(g, g.shfl(c.outcome.pack(), cuda::std::countr_zero(dead)));
  }
  GNSTOR_HD answer settle(command_id id, std::uint64_t seen, const completion& c) const {
    request_slot& s = slots()[place(id)];
    if (id_of(seen >> 8, place(id)).value != id.value) return answer::unknown;
    if (phase_of(seen) == request_phase::abandoned) {
      set(s, request_phase::free);
      return answer::late;
    }
    if (phase_of(seen) != request_phase::pending) return answer::unknown;
    const wire::nvme::completion_entry& e = c.response;
    const status outcome = c.kind == completion_kind::failed ? c.outcome : response_status(e);
    s.outcome = outcome.pack();
    s.value = e.dw0 | std::uint64_t{e.dw1} << 32;
    set(s, request_phase::done);
    return answer::delivered;
  }
  GNSTOR_HD void break_down(const simt::group& g, std::uint64_t why) const {
    const bool alive = phase() == channel_phase::connecting || phase() == channel_phase::ready;
    g.sync();
    if (!g.leads() || !alive) return;
    state_->first_error = why;
    state_->phase =
        resets_in(state_->phase) << 8 | static_cast<std::uint32_t>(channel_phase::error);
  }

  /// Notes in the bitmap of shared use, for the lanes of `mask`, that slot `at` is taken, or free.
  GNSTOR_HD void note(const simt::group& g, std::uint32_t mask, std::uint32_t at,
                      bool taken) const {
    auto* bitmap = reinterpret_cast<std::uint32_t*>(slots() + qp_.depth());
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
      const std::uint32_t k = g.shfl(at, cuda::std::countr_zero(left));
      if (!g.leads()) continue;
      bitmap[k / 32] = taken ? bitmap[k / 32] | 1u << k % 32 : bitmap[k / 32] & ~(1u << k % 32);
    }
  }
  /// The greatest `value` of the group, in every lane.
  GNSTOR_HD static std::uint64_t greatest(const simt::group& g, std::uint64_t value) {
    for (std::uint32_t step = 1; step < g.size(); step *= 2) {
      const std::uint32_t from = (g.thread_rank() + step) % g.size();
      const std::uint64_t other = g.shfl(value, static_cast<int>(from));
      if (other > value) value = other;
    }
    return value;
  }

  QP qp_;
  channel_state* state_;
};

static_assert(std::is_trivially_copyable_v<exclusive_channel<>>);

}  // namespace gnstor::inline v0
