#pragma once

#include <gnstor/channel/exclusive_channel.hpp>
#include <gnstor/io/callback_table.hpp>
#include <gnstor/io/completion_call.hpp>
#include <gnstor/io/operation_table.hpp>

namespace gnstor::detail {

/// Asynchronous operations of a warp on a channel that it has to itself: `async_io` for one owner.
///
/// The steps in flight lie in the channel's memory, by request slot; answers stay in their slots
/// until a poll acts on them. Every call but `take` is the whole warp's, converged; lanes without a
/// request say so.
/// @tparam Channel an `exclusive_channel`, the calling warp's
template <class Channel>
class warp_async_io {
  using operation_list = operation_table<thread_scope_block>;

 public:
  /// @param memory what the channel has from `channel_layout::steps` on; null begins nothing
  GNSTOR_HD_INLINE warp_async_io(void* memory, std::uint32_t depth)
      : operations_(memory, depth), depth_(depth) {}

  /// Begins an operation for each lane that wants one: sends its steps, and does not wait.
  /// @param next `next(step)` sets the lane's next step, or is false at the end; there is one
  /// @par Errors as `async_io::begin`; ok, and no ticket, for a lane that wants nothing
  template <class Next>
  GNSTOR_HD_INLINE result<ticket> begin(const simt::group& g, Channel& channel,
                                        completion_call then, deadline d, Next next, bool wants) {
    result<ticket> mine = ticket{};
    if (wants) mine = opened(channel, then, d);
    const bool open = wants && mine.status.ok();
    io_step step;
    status failed;
    bool more = open && next(step);
    bool any_sent = false;
    bool moved = true;
    for (until round{deadline::never()}; moved || round;) {
      if (!g.any(more)) break;
      if (more) step.operation = operations_.slot_of(mine.value);
      const status sent = send(g, channel, step, more);
      const bool full = more && sent.code == status_code::would_block;
      if (more && !full) {
        failed = sent;
        any_sent = any_sent || sent.ok();
        more = sent.ok() && next(step);
      }
      moved = !g.any(full) || poll(g, channel);
      if (moved) round.progressed();
      if (!full) continue;
      failed = any_sent ? status::make(status_code::timed_out, reporter::channel) : sent;
      more = any_sent && !d.expired(simt::now_ns());
      if (more) failed = status{};
    }
    if (open && !any_sent && failed.code == status_code::would_block) {
      operations_.cancel(mine.value);
      return failed;
    }
    if (open) operations_.settle(operations_.slot_of(mine.value), failed);
    return mine;
  }

  /// Takes completions and acts on answered steps. True, for all lanes, if anything moved.
  GNSTOR_HD_INLINE bool poll(const simt::group& g, Channel& channel) {
    const bool took = channel.poll(g);
    unseen_ += channel.take_delivered();
    if (!operations_.exists()) return took;
    const bool late = unseen_ == 0 && ++vain_ % looks_for_one_at_the_clock == 0;
    if (unseen_ != 0 || late) return act(g, channel, purpose::carry_on) || took;
    return took;
  }
  /// Frees the slots of steps that were answered and need not go on elsewhere: for a request of
  /// another kind that finds none. True, for all lanes, if there was one.
  GNSTOR_HD_INLINE bool make_room(const simt::group& g, Channel& channel) {
    if (!operations_.exists() || channel.take_delivered() == 0) return false;
    const bool freed = act(g, channel, purpose::make_room);
    unseen_ = 1;  // those that are to go on
    return freed;
  }

  /// Waits until the operation of each lane that waits has ended.
  /// @par Bound the latest `d`; an operation then ends by itself
  /// @par Errors as `async_io::wait`; ok for a lane that waits for nothing
  GNSTOR_HD_INLINE status wait(const simt::group& g, Channel& channel, ticket t, deadline d,
                               bool waits) {
    status outcome;
    bool open = waits;
    for (until more{d}; g.any(open);) {
      const bool in_time = static_cast<bool>(more);
      if (poll(g, channel)) more.progressed();
      if (open) outcome = operations_.take(t);
      open = open && outcome.code == status_code::would_block;
      if (!open || in_time) continue;
      outcome = operations_.abandon(t) ? status::make(status_code::timed_out, reporter::channel)
                                       : operations_.take(t);
      open = false;
    }
    g.sync();
    return outcome;
  }
  /// The operation's outcome if it has ended, else would_block; does not poll.
  /// @par Callers any lane of the warp
  GNSTOR_HD_INLINE status take(ticket t) const { return operations_.take(t); }

  /// Polls, and calls the callback of one ended operation a lane. True, for all lanes, if one did.
  template <class Table>
  GNSTOR_HD_INLINE bool dispatch(const simt::group& g, Channel& channel, const Table& callbacks) {
    (void)poll(g, channel);
    bool called = false;
    if (operations_.exists()) {
      const result<ticket> ended = operations_.take_called();
      if (ended) {
        const callback_id which = operations_.callback_of(ended.value);
        io_event e;
        e.outcome = operations_.take_ended(ended.value, &e.argument);
        callbacks(which, e);
        called = true;
      }
    }
    return g.any(called);
  }

  /// Gives up every step in flight, and forgets all operations.
  GNSTOR_HD_INLINE void end(const simt::group& g, Channel& channel) {
    if (!operations_.exists()) return;
    (void)act(g, channel, purpose::end);
    if (g.leads()) operations_.forget_all();
    g.sync();
  }

 private:
  enum class purpose : std::uint8_t { carry_on, make_room, end };
  static constexpr std::uint32_t looks_for_one_at_the_clock = 16;
  using slots = exclusive_slots;

  GNSTOR_HD_INLINE result<ticket> opened(const Channel& channel, completion_call then,
                                         deadline d) const {
    if (!channel.life().ready()) return channel.life().refusal();
    return operations_.begin(then.callback, then.argument, d);
  }

  /// Sends the steps of the lanes that have one, each under a request slot of its own.
  GNSTOR_HD_INLINE status send(const simt::group& g, Channel& channel, io_step& step, bool wants) {
    if (wants) operations_.begin_turn(step);
    const result<ticket> t = channel.submit(g, step.command(), wants);
    if (wants && t) {
      operations_.add_step(step.operation);
      const std::uint32_t at = channel.slots().position(t.value.id);
      operations_.steps().write(at, step, channel.slots().word(at));
    }
    return t.status;
  }

  /// Looks at every slot once: settles the steps that were answered or whose time is up, or sends
  /// them to the next SSD, unless only room is wanted. At the end all are given up.
  GNSTOR_HD_INLINE bool act(const simt::group& g, Channel& channel, purpose why) {
    const bool all = why == purpose::end;
    const std::uint64_t now = simt::now_ns();
    bool acted = false;
    unseen_ = 0;
    for (std::uint32_t row = 0; row < depth_; row += g.size()) {
      const std::uint32_t at = row + g.thread_rank() < depth_ ? row + g.thread_rank() : 0;
      const std::uint64_t word = channel.slots().word(at);
      const request_phase phase = slots::phase_of(word);
      const bool known = at == row + g.thread_rank() &&
                         (phase == request_phase::done || phase == request_phase::pending);
      io_step step;
      const bool mine = known && operations_.steps().read(at, slots::sent(word), step);
      bool answered = mine && phase == request_phase::done;
      status answer;
      std::uint32_t value = 0;
      if (answered) (void)channel.slots().take(at, answer, value);
      const bool leaves = mine && phase == request_phase::pending && why != purpose::make_room &&
                          (all || now >= step.expires_ns || !channel.life().ready());
      if (leaves) answer = channel.life().gave_up();
      const bool goes_on = (answered || leaves) && !all && step.goes_on(answer) &&
                           channel.life().ready() && now < operations_.ends_ns(step.operation);
      if (why == purpose::make_room && goes_on) answered = false;
      const bool acts = answered || leaves;
      if (!g.any(acts)) continue;
      acted = true;
      if (g.any(leaves)) channel.abandon(g, at, leaves);
      if (acts) operations_.steps().forget(at);
      if (answered) channel.slots().free(at, word >> 8);
      // Answered steps first: each has freed a slot, so that all of them find one, or the queue has
      // no room for any and their slots are theirs again. Steps that were given up have freed none,
      // and must not take those.
      bool sent = false;
      bool stays = false;
      for (std::uint32_t turn = 0; turn < 2 && why == purpose::carry_on; ++turn) {
        const bool mine_now = goes_on && (turn == 0 ? answered : leaves);
        if (!g.any(mine_now)) continue;
        if (send_on(g, channel, step, answer, mine_now)) sent = true;
        if (turn == 1 || !mine_now || sent) continue;
        stays = true;  // and is looked at again
        channel.slots().keep(at, word >> 8);
        operations_.steps().write(at, step, slots::sent(word));
      }
      if (acts && !stays) operations_.settle(step.operation, sent ? status{} : step.ended(answer));
      unseen_ += g.any(stays) ? 1 : 0;
      g.sync();
    }
    return acted;
  }
  GNSTOR_HD_INLINE bool send_on(const simt::group& g, Channel& channel, const io_step& step,
                                status answer, bool wants) {
    io_step onward = step;
    if (wants) onward.go_on(answer);
    const bool sent = send(g, channel, onward, wants).ok() && wants;
    g.sync();  // slots that were claimed in vain are free again
    return sent;
  }

  operation_list operations_;
  std::uint32_t depth_;
  std::uint32_t unseen_ = 0;  ///< answers in slots that no poll has looked at
  std::uint32_t vain_ = 0;
};

}  // namespace gnstor::detail
