#pragma once

#include <gnstor/channel/answer_match.hpp>
#include <gnstor/channel/channel.hpp>
#include <gnstor/channel/channel_owner.hpp>
#include <gnstor/channel/exclusive_phase.hpp>
#include <gnstor/channel/exclusive_slots.hpp>
#include <gnstor/qp/mlx5_owned_queue.hpp>

#include <cuda/std/utility>

namespace gnstor::inline v0 {

/// A channel that belongs to one warp: what 32 lanes of a shared channel ask memory for, this one
/// has in registers. What remains of atomics is what the NIC needs.
///
/// It takes a connected `channel` over while nothing is in flight on it, and gives it back by
/// `release`; meanwhile the host must not reset it, nor anybody close it. Every operation is the
/// whole group's: all lanes of it call converged, always the same group, and lanes without a
/// request say so. Requests of `execute` touch no memory but their entries: each lane keeps a
/// request slot, and answers go from the lane that took them to the one that asked. Pass it by
/// reference: a copy goes its own way.
template <owned_queue Queue = mlx5_owned_queue<>, doorbell_policy Doorbell = doorbell::leader_warp>
class exclusive_channel {
  static_assert(!Doorbell::each_lane, "the leader of the warp rings for all of its lanes");
  static constexpr bool defers = Doorbell::may_wait != 0;

 public:
  /// Takes `shared` over.
  /// @par Callers every lane of the owning group, converged
  GNSTOR_HD_INLINE exclusive_channel(const simt::group& g,
                                     const channel<typename Queue::shared_type, Doorbell>& shared)
      : exclusive_channel(g, shared.queue(), shared.counters()) {}
  GNSTOR_HD_INLINE exclusive_channel([[maybe_unused]] const simt::group& g,
                                     const typename Queue::shared_type& queue, channel_state& state)
      : queue_(queue), state_(&state), phase_(state) {
    GNSTOR_ASSERT(detail::is_owner(g, state));
  }

  GNSTOR_HD_INLINE const Queue& queue() const { return queue_; }
  /// The words of the channel, as of the last `save`.
  GNSTOR_HD_INLINE channel_state& counters() const { return *state_; }
  GNSTOR_HD_INLINE channel_phase phase() const { return phase_.now(); }

  /// Sends the command capsules of the lanes that want it; the command ids are filled in.
  /// @par Callers every lane of the owning group, converged
  /// @par Result each lane the ticket to wait for
  /// @par Order the lanes' earlier writes to their buffers are visible to the NIC
  /// @par Errors would_block: every request slot is in use, or the lane wanted nothing; not_ready,
  /// closed, flushed by phase
  GNSTOR_HD_INLINE result<ticket> submit(const simt::group& g, wire::nvme::submission_entry command,
                                         bool wants = true) {
    if (!phase_.ready()) return phase_.refusal();
    put_down(g);
    const std::uint32_t at = slots().claim(g, wants);
    const bool goes = at != nowhere;
    const std::uint64_t generation = goes ? slots().generation(at) + 1 : 0;
    const ticket mine{slots().id_of(generation, at)};
    command.command_id = mine.id.value;
    std::uint64_t index = 0;
    if (send(g, command, goes, index) && goes) {
      slots().expect(at, generation, index);
      return mine;
    }
    if (goes) slots().free(at, generation);
    if (defers) commit(g);  // what holds the slots
    return status::make(status_code::would_block, reporter::channel);
  }

  /// Announces what has been submitted, under a policy that lets requests wait for a doorbell.
  GNSTOR_HD_INLINE void commit(const simt::group& g) {
    if (queue_.announced() != queue_.reserved()) queue_.ring(g);
  }

  /// Takes up to one completion a lane and delivers them. True, for all lanes, if there was one.
  GNSTOR_HD_INLINE bool poll(const simt::group& g) {
    flight none;
    return poll_for(g, none);
  }

  /// Waits until each lane that wants to has the answer to its `t`, or has given up on it.
  /// @par Callers every lane of the owning group, converged; they return together
  /// @par Order on success the payload that the peer wrote is visible to the whole group
  /// @par Bound the latest `d`
  /// @par Errors as `channel::wait`; ok for a lane that waits for nothing
  GNSTOR_HD_INLINE status wait(const simt::group& g, ticket t, deadline d,
                               std::uint32_t* value = nullptr, bool waits = true) {
    if (defers) commit(g);
    status outcome;
    bool open = waits;
    for (until more{d}; g.any(open);) {
      const bool in_time = static_cast<bool>(more);
      if (poll(g)) more.progressed();
      const status now = try_wait(g, t, in_time, value, open);
      if (open) outcome = now;
      open = open && outcome.code == status_code::would_block;
    }
    return outcome;
  }

  /// The answer to each lane's `t` if it has been taken from the queue, else would_block; does not
  /// poll.
  /// @param in_time if not, the lane gives up on its request: timed_out
  /// @par Callers, Order, Errors as `wait`
  GNSTOR_HD_INLINE status try_wait(const simt::group& g, ticket t, bool in_time,
                                   std::uint32_t* value = nullptr, bool waits = true) {
    const std::uint32_t at = slots().position(t.id);
    status outcome;
    if (waits) outcome = take(at, value);
    const bool leaves =
        waits && outcome.code == status_code::would_block && (phase_.dead() || !in_time);
    if (g.any(leaves)) {
      if (leaves) outcome = phase_.gave_up();
      abandon(g, at, leaves);
    }
    return outcome;
  }

  /// Sends the commands of the lanes that want it and waits for their answers; waits for free slots
  /// too.
  /// @par Callers, Order, Bound, Errors as `wait`
  GNSTOR_HD_INLINE status execute(const simt::group& g, const wire::nvme::submission_entry& command,
                                  deadline d, std::uint32_t* value = nullptr, bool wants = true) {
    status outcome;
    std::uint32_t received = 0;
    bool asked = false;
    execute_each(
        g, wants,
        [&](const status& last, std::uint32_t got, wire::nvme::submission_entry& next,
            deadline& ends) {
          outcome = last;
          received = got;
          if (asked) return false;
          next = command;
          ends = d;
          return asked = true;
        },
        detail::no_room{});
    if (value != nullptr && wants) *value = received;
    return outcome;
  }

  /// Sends the commands of the lanes that want it, one after another per lane, and waits for the
  /// answers; no lane waits for another's.
  /// @param next `next(outcome, value, command, ends)` learns how the lane's last command ended (at
  /// first: ok) with dword 0 of its response; sets the next one and its deadline, or returns false
  /// @param room `room(g)`, by all lanes, frees slots of answers that nobody waits for: true if any
  /// @par Callers every lane of the owning group, converged; they return together. `next` is called
  /// by any of them
  template <class Next, class Room = detail::no_room>
  GNSTOR_HD_INLINE void execute_each(const simt::group& g, bool wants, const Next& next,
                                     const Room& room = {}) {
    flight mine;
    wire::nvme::submission_entry command{};
    deadline ends = deadline::never();
    bool asks = wants;
    bool has_one = false;
    bool moved = true;
    for (until more{deadline::never()}; moved || more;) {
      moved = false;
      bool in_time = true;  // in a command's first round
      if (asks) {
        has_one = mine.unsent = next(mine.outcome, mine.value, command, ends);
      } else if (has_one) {
        in_time = !ends.expired(simt::now_ns());
      }
      if (!g.any(has_one)) break;
      if (g.any(mine.unsent)) launch(g, command, mine);
      if (defers) commit(g);
      for (bounded looks{looks_a_round}; looks && !moved;) moved = poll_for(g, mine);
      if (g.any(mine.unsent)) moved = room(g) || moved;
      if (moved) more.progressed();
      give_up(g, mine, in_time);
      asks = has_one && !mine.unsent && !mine.open;
      has_one = has_one && !asks;
    }
  }

  // What io/ builds asynchronous I/O from: requests that stay in their slots until it takes them.
  GNSTOR_HD_INLINE detail::exclusive_slots slots() const { return {state_, queue_.depth()}; }
  /// Answers that went to slots since the last call, the same in every lane.
  GNSTOR_HD_INLINE std::uint32_t take_delivered() { return cuda::std::exchange(delivered_, 0u); }
  /// Lanes that leave give up the pending request at `at`.
  GNSTOR_HD_INLINE void abandon(const simt::group& g, std::uint32_t at, bool leaves) const {
    slots().abandon(g, at, leaves);
    const std::uint32_t late = g.ballot(leaves && !phase_.dead());
    if (g.leads()) state_->timed_out += detail::bits(late);
  }
  GNSTOR_HD_INLINE const detail::exclusive_phase& life() const { return phase_; }

  /// Writes down how far the channel has come, and keeps it.
  GNSTOR_HD_INLINE void save(const simt::group& g) {
    put_down(g);
    retire_answered(g);
    queue_.save(g);
    if (!g.leads()) return;
    state_->submitted += submitted_;
    state_->completed += completed_;
    submitted_ = completed_ = 0;
  }

  /// Gives the channel back: another warp, or `channel`, may take it over. Nothing is in flight but
  /// what was given up.
  /// @par Order the lanes' to hand on: what tells the next owner releases, and it acquires that
  GNSTOR_HD_INLINE void release(const simt::group& g) {
    save(g);
    g.sync();
    if (g.leads()) detail::disown(*state_);
    g.sync();  // no lane tells others before it is so
  }

 private:
  static constexpr std::uint32_t nowhere = detail::exclusive_slots::nowhere;
  static constexpr std::uint32_t looks_a_round = 16;  ///< at the queue, for one at the clock

  /// A lane's request in `execute`.
  struct flight {
    bool unsent = false;  ///< wanted, not sent yet
    bool open = false;    ///< sent under the slot in hand, not answered yet
    command_id id{};
    std::uint64_t index = 0;
    status outcome;
    std::uint32_t value = 0;
  };

  /// Gives each lane that wants one a slot in hand, as far as there are any: free ones, or those of
  /// lanes that are `idle`.
  GNSTOR_HD_INLINE void pick_up(const simt::group& g, bool wants, bool idle) {
    for (bounded tries{2}; tries;) {
      const bool needs = wants && hand_ == nowhere;
      if (!g.any(needs)) return;
      const std::uint32_t at = slots().claim(g, needs);
      if (at != nowhere) {
        hand_ = at;
        generation_ = slots().generation(at);
      }
      if (g.any(needs && at == nowhere)) put_down(g, idle);
    }
  }
  /// Frees the slots that these lanes keep.
  GNSTOR_HD_INLINE void put_down(const simt::group& g, bool idle = true) {
    if (idle && hand_ != nowhere) {
      slots().free(hand_, generation_);
      hand_ = nowhere;
    }
    g.sync();
  }

  /// Sends the commands of the lanes that have one, each under its id. False, for all of them, if
  /// the queue has no room.
  /// @param index where the lane's command goes out
  GNSTOR_HD_INLINE bool send(const simt::group& g, const wire::nvme::submission_entry& command,
                             bool has_one, std::uint64_t& index) {
    const std::uint32_t senders = g.ballot(has_one);
    if (senders == 0) return false;
    result<std::uint64_t> first = queue_.try_reserve(detail::bits(senders));
    if (!first) {
      retire_answered(g);
      first = queue_.try_reserve(detail::bits(senders));
      if (!first) return false;
    }
    index = first.value + detail::exclusive_slots::before(g, senders);
    if (has_one) queue_.write_send(index, command);
    if (!defers || queue_.announced() + Doorbell::may_wait < queue_.reserved()) queue_.ring(g);
    submitted_ += detail::bits(senders);
    return true;
  }
  /// Sends what the lanes want, as far as there is room.
  GNSTOR_HD_INLINE void launch(const simt::group& g, wire::nvme::submission_entry command,
                               flight& mine) {
    if (!phase_.ready()) {
      if (mine.unsent) mine.outcome = phase_.refusal();
      mine.unsent = false;
      return;
    }
    pick_up(g, mine.unsent, !mine.unsent && !mine.open);
    const bool goes = mine.unsent && hand_ != nowhere;
    if (goes) {
      mine.id = slots().id_of(++generation_, hand_);
      command.command_id = mine.id.value;
    }
    if (send(g, command, goes, mine.index) && goes) {
      mine.unsent = false;
      mine.open = true;
    }
  }
  /// Ends the requests whose time is over, or whose queue pair is dead.
  GNSTOR_HD_INLINE void give_up(const simt::group& g, flight& mine, bool in_time) {
    const bool leaves = mine.open && (phase_.dead() || !in_time);
    if (g.any(leaves)) {
      const std::uint32_t at = hand_;
      if (leaves) {
        mine.outcome = phase_.gave_up();
        slots().expect(at, generation_, mine.index);
        mine.open = false;
        hand_ = nowhere;
      }
      abandon(g, at, leaves);
    }
    if (mine.unsent && !in_time) {
      mine.outcome = status::make(status_code::timed_out, reporter::channel);
      mine.unsent = false;
    }
  }
  /// Takes completions and delivers them: to the lanes' requests in `execute`, or to tickets.
  GNSTOR_HD_INLINE bool poll_for(const simt::group& g, flight& mine) {
    completion c;
    const std::uint32_t ready = queue_.poll(g, c);
    if (ready == 0) return false;
    const std::uint32_t from = hand_over(g, c, mine);
    const std::uint32_t takers = g.ballot(from != nowhere);
    completed_ += detail::bits(takers);
    if (detail::bits(takers) != ready) deliver_others(g, c, takers, from, mine);
    g.sync();  // what one lane took another has the data of
    return true;
  }
  /// Ends the lane's request if a lane has taken its answer; the rank of that lane, or nowhere.
  GNSTOR_HD_INLINE std::uint32_t hand_over(const simt::group& g, const completion& c,
                                           flight& mine) {
    const auto found = detail::matching_answer(g, c, mine.open, mine.id, queue_.depth());
    if (found.from == nowhere) return nowhere;
    wire::nvme::completion_entry e{};
    e.status = found.status;
    mine.outcome = detail::response_status(e);
    mine.value = found.value;
    mine.open = false;
    answered_ = answered_ > mine.index ? answered_ : mine.index + 1;
    return found.from;
  }
  /// Whoever answers has received every earlier request: a reliable connection delivers in order.
  GNSTOR_HD_INLINE void retire_answered(const simt::group& g) {
    const std::uint64_t end = g.greatest(answered_);
    if (end != 0) queue_.retire(end - 1);
  }
  /// Delivers what was not handed over: by way of the slots in memory, where every request is found
  /// by its id.
  GNSTOR_HD_INLINE void deliver_others(const simt::group& g, completion c, std::uint32_t takers,
                                       std::uint32_t from, flight& mine) {
    for (std::uint32_t left = takers; left != 0; left &= left - 1) {
      if (g.shfl(from, cuda::std::countr_zero(left)) == g.thread_rank()) c = completion{};
    }
    if (mine.open) slots().expect(hand_, generation_, mine.index);
    g.sync();
    deliver(g, c);
    g.sync();
    if (!mine.open) return;
    mine.open = !slots().take(hand_, mine.outcome, mine.value);
    if (mine.open) slots().keep(hand_, generation_);
  }
  /// The outcome of the ticket at `at`, whose slot is free then, or would_block.
  GNSTOR_HD_INLINE status take(std::uint32_t at, std::uint32_t* value) const {
    status outcome;
    std::uint32_t received = 0;
    if (!slots().take(at, outcome, received))
      return status::make(status_code::would_block, reporter::channel);
    if (value != nullptr) *value = received;
    slots().free(at, slots().generation(at));
    return outcome;
  }

  using answer = detail::exclusive_slots::answer;
  /// Delivers one completion a lane to the slots.
  GNSTOR_HD_INLINE void deliver(const simt::group& g, const completion& c) {
    const bool answered = c.kind == completion_kind::response;
    const bool failed = c.kind == completion_kind::failed;
    const command_id id(answered ? c.response.command_id
                        : failed ? queue_.sent_id(c.index).value
                                 : std::uint16_t{0});
    const answer met = slots().settle(g, id, answered || failed, c);
    std::uint64_t left = c.kind == completion_kind::sent ? c.index + 1 : 0;
    if (answered && met != answer::unknown) left = slots().index(slots().position(id)) + 1;
    left = g.greatest(left);
    if (left != 0) queue_.retire(left - 1);
    const std::uint32_t delivered = detail::bits(g.ballot(met == answer::delivered));
    delivered_ += delivered;
    completed_ += delivered;
    slots().count_others(g, id, met, answered || failed, c.kind == completion_kind::broken);
    const std::uint32_t dead = g.ballot(c.kind == completion_kind::broken ||
                                        c.outcome.code == status_code::transport_error);
    if (dead != 0) phase_.fail(g, g.shfl(c.outcome.pack(), cuda::std::countr_zero(dead)));
  }
  Queue queue_;
  channel_state* state_;
  detail::exclusive_phase phase_;
  std::uint32_t hand_ = nowhere;  ///< the slot that this lane keeps
  std::uint64_t generation_ = 0;  ///< of that slot: its memory says an older one
  std::uint64_t answered_ = 0;    ///< end of this lane's answered requests
  std::uint64_t submitted_ = 0;   ///< since the last `save`
  std::uint64_t completed_ = 0;
  std::uint32_t delivered_ = 0;  ///< of them, to slots, since the last `take_delivered`
};

template <thread_scope Scope, capsule_placement Capsule, doorbell_policy Doorbell>
exclusive_channel(const simt::group&,
                  const channel<mlx5_queue_pair<Scope, sharing::shared, Capsule>, Doorbell>&)
    -> exclusive_channel<mlx5_owned_queue<Scope, Capsule>, Doorbell>;

}  // namespace gnstor::inline v0
