#pragma once
/// Asynchronous operations on a channel, begun, waited for and called back by different lanes; on
/// the host runtime and on the GPU.

#include "channel/connect_all.hpp"
#include "qp/letter.hpp"
#include "qp/scripted_peer.hpp"
#include <gnstor/channel/mlx5_channel.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::test {

/// One operation as its owner saw it.
struct journey_record {
  std::uint64_t outcome = 0;  ///< `status::pack()`
  std::uint32_t ended = 0;    ///< how often it ended: waits that returned, and callbacks
  std::uint32_t visible = 0;  ///< parts whose data was there
  std::uint32_t parts = 0;
  std::uint32_t called = 0;  ///< it had a callback
  std::uint32_t fails = 0;   ///< parts that must fail
  std::uint32_t lates = 0;   ///< parts whose SSD stays silent
};

/// What the lanes share. Zero at the start.
struct journey_tally {
  std::uint32_t ended = 0;   ///< lanes that ran to their end
  std::uint32_t called = 0;  ///< callbacks that ran
  std::uint32_t due = 0;     ///< operations with a callback that were begun
  std::uint32_t nevers = 0;  ///< requests sent that get no answer
  std::uint32_t stuck = 0;
  std::uint32_t others = 0;  ///< callbacks of the wrong kind
};

/// Notes what a callback is passed; the argument is the operation's number.
struct note_end {
  journey_record* records = nullptr;
  letter* letters = nullptr;
  journey_tally* tally = nullptr;

  GNSTOR_HD void operator()(const io_event& e) const {
    journey_record& r = records[e.argument];
    r.outcome = e.outcome.pack();
    note(r, static_cast<std::uint32_t>(e.argument));
    device_word<std::uint32_t>(tally->called).fetch_add(1, relaxed);
  }
  GNSTOR_HD void note(journey_record& r, std::uint32_t operation) const {
    device_word<std::uint32_t>(r.ended).fetch_add(1, relaxed);
    // Of a failed operation parts may still be answered; so may the silent SSDs of one left behind.
    const status s = status::unpack(r.outcome);
    for (std::uint32_t k = 0; k < r.parts && s.ok() && !s.left_behind(); ++k) {
      const std::uint32_t id = operation * 4 + k;
      r.visible += letters[id].holds_reply(id) ? 1 : 0;
    }
  }
};
/// Must never be called.
struct wrong_end {
  journey_tally* tally = nullptr;
  GNSTOR_HD void operator()(const io_event&) const {
    device_word<std::uint32_t>(tally->others).fetch_add(1, relaxed);
  }
};
using journey_callbacks = callback_table<wrong_end, note_end>;

/// Lanes begin operations of one to three parts. Every second one ends in a callback, in whatever
/// lane dispatches it; the others are waited for, every second of these by the next lane.
template <class Channel = mlx5_channel>
struct journey {
  struct shared {};

  const Channel* channels = nullptr;
  std::uint32_t channel_count = 1;
  std::uint32_t rounds = 2;
  std::uint32_t seed = 0;
  std::uint64_t patience_ns = 60'000;
  bool hurried = false;               ///< every operation has to end in time, not only silent ones
  letter* letters = nullptr;          ///< [4 * operations]
  journey_record* records = nullptr;  ///< [operations]
  std::uint64_t* handed = nullptr;    ///< [operations]: tickets for the next lane, 0 where none is
  journey_tally* tally = nullptr;
  std::uint32_t* stop = nullptr;  ///< set by the last lane, where no executor does

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const std::uint32_t me = lane.global_thread();
    const std::uint32_t lanes = lane.grid_threads();
    if (!connect_all(channels, channel_count, me == 0))
      device_word<std::uint32_t>(tally->stuck).fetch_add(1, relaxed);
    std::uint32_t draw = (me + 1 + seed * 0x10001u) * 2654435761u;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      draw = draw * 1664525u + 1013904223u;
      one(me * rounds + round, draw);
      take_over((me + 1) % lanes * rounds + round);
    }
    drain();
    if (device_word<std::uint32_t>(tally->ended).fetch_add(1, acq_rel) + 1 != lanes) return;
    let_late_ones_in();
    if (stop != nullptr) system_word<std::uint32_t>(*stop).store(1, release);
  }

 private:
  GNSTOR_HD journey_callbacks callbacks() const {
    return journey_callbacks(wrong_end{tally}, note_end{records, letters, tally});
  }
  GNSTOR_HD const Channel& channel_of(std::uint32_t operation) const {
    return channels[mix64(operation) % channel_count];
  }

  /// Part `k` of an operation: what the peer shall do with it, and what then must come of it.
  GNSTOR_HD detail::io_step make_step(std::uint32_t operation, std::uint32_t k, std::uint32_t draw,
                                      journey_record& r) const {
    constexpr ask usual[8] = {ask::twice,  ask::refuse, ask::refuse, ask::never,
                              ask::answer, ask::answer, ask::answer, ask::answer};
    ask what = usual[draw >> 4 & 7];
    // Few requests stay unanswered: their slots are not free again.
    if (what == ask::never && operation % 5 != 0) what = ask::answer;
    const bool second = (draw >> 8 & 1) != 0;
    detail::io_step p;
    p.slba = operation * 4 + k;
    p.blocks = static_cast<std::uint32_t>(what) + 1;
    p.epoch = wire::nvme::make_status(wire::nvme::media_status::unrecovered_read_error);
    p.candidates = second ? 2 : 1;
    p.ssds = 0x0100;  // the second one does all that it is asked for
    if (what == ask::never) ++r.lates;
    if (!second && (what == ask::never || what == ask::refuse)) ++r.fails;
    letters[p.slba].ask(static_cast<std::uint32_t>(p.slba));
    return p;
  }

  GNSTOR_HD static ask asked(const detail::io_step& p) { return static_cast<ask>(p.blocks - 1); }

  GNSTOR_HD void one(std::uint32_t operation, std::uint32_t draw) const {
    journey_record& r = records[operation];
    const Channel& channel = channel_of(operation);
    const auto io = async_io(channel);
    r.parts = 1 + draw % 3;
    r.called = draw >> 16 & 1;
    const callback_id then = r.called != 0 ? journey_callbacks::id<note_end>() : callback_id{};
    if (r.called != 0) device_word<std::uint32_t>(tally->due).fetch_add(1, relaxed);
    detail::io_step parts[3];
    for (std::uint32_t k = 0; k < r.parts; ++k)
      parts[k] = make_step(operation, k, draw >> 4 * k, r);
    // Only silence needs an end: how long all else takes is up to the schedule.
    const deadline d = hurried || r.lates != 0 ? simt::within(patience_ns) : deadline::never();
    result<ticket> mine = status{};
    for (until more{deadline::never()}; more;) {
      mine = io.open(then, operation, d);
      if (mine.status.code != status_code::would_block) break;
      (void)io.dispatch(callbacks());
    }
    for (std::uint32_t k = 0; k < r.parts && mine; ++k) {
      const status sent = io.add(mine.value, parts[k]);
      if (sent.code == status_code::timed_out && (hurried || r.lates != 0)) {
        io.end(mine.value, sent);
        return settle(operation, mine.value, draw);
      }
      if (!sent.ok()) device_word<std::uint32_t>(tally->stuck).fetch_add(1, relaxed);
      if (sent.ok() && asked(parts[k]) == ask::never)
        device_word<std::uint32_t>(tally->nevers).fetch_add(1, relaxed);
    }
    if (!mine) return (void)device_word<std::uint32_t>(tally->stuck).fetch_add(1, relaxed);
    io.end(mine.value);
    settle(operation, mine.value, draw);
  }

  /// Leaves an operation to its callback or to the next lane, or waits for it.
  GNSTOR_HD void settle(std::uint32_t operation, ticket mine, std::uint32_t draw) const {
    if (records[operation].called != 0) return hand(operation, 2);
    if ((draw >> 17 & 1) != 0) return hand(operation, std::uint64_t{1} << 32 | mine.id.value);
    hand(operation, 2);
    await(operation, mine);
  }

  GNSTOR_HD void hand(std::uint32_t operation, std::uint64_t word) const {
    device_word<std::uint64_t>(handed[operation]).store(word, release);
  }
  /// Waits for an operation of another lane, if that lane leaves it.
  GNSTOR_HD void take_over(std::uint32_t operation) const {
    std::uint64_t word = 0;
    for (until more{deadline::never()}; more;) {
      word = device_word<std::uint64_t>(handed[operation]).load(acquire);
      if (word != 0) break;
      // The other lane may need what only polling gives.
      (void)async_io(channel_of(operation)).dispatch(callbacks());
    }
    if (word >> 32 == 0) return;
    await(operation, ticket{command_id(static_cast<std::uint16_t>(word))});
  }

  GNSTOR_HD void await(std::uint32_t operation, ticket t) const {
    journey_record& r = records[operation];
    r.outcome = async_io(channel_of(operation)).wait(t, deadline::never()).pack();
    note_end{records, letters, tally}.note(r, operation);
  }

  /// Polls until only the requests without an answer hold their slots.
  GNSTOR_HD void let_late_ones_in() const {
    const auto seen = [](std::uint64_t& counter) {
      return device_word<std::uint64_t>(counter).load(relaxed);
    };
    for (bounded tries{1'000'000}; tries;) {
      std::uint64_t open = 0;
      for (std::uint32_t k = 0; k < channel_count; ++k) {
        (void)channels[k].poll();
        channel_state& c = channels[k].counters();
        open += seen(c.submitted) - seen(c.completed) - seen(c.late);
      }
      if (open == device_word<std::uint32_t>(tally->nevers).load(relaxed)) return;
      simt::pause();
    }
    device_word<std::uint32_t>(tally->stuck).fetch_add(1, relaxed);
  }

  /// Dispatches until every operation with a callback has ended.
  GNSTOR_HD void drain() const {
    std::uint32_t looks = 0;
    for (until more{deadline::never()}; more;) {
      bool moved = false;
      for (std::uint32_t k = 0; k < channel_count; ++k)
        moved = async_io(channels[k]).dispatch(callbacks()) || moved;
      if (device_word<std::uint32_t>(tally->called).load(relaxed) ==
          device_word<std::uint32_t>(tally->due).load(relaxed)) {
        return;
      }
      if (!moved && ++looks > 4'000'000)
        return (void)device_word<std::uint32_t>(tally->stuck).fetch_add(1, relaxed);
    }
  }
};

}  // namespace gnstor::test
