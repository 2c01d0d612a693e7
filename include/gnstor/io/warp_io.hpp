#pragma once

#include <gnstor/channel/exclusive_channel.hpp>
#include <gnstor/io/io_plan.hpp>

#include <cuda/std/bit>

namespace gnstor::detail {

/// I/O of a warp on a channel that it has to itself: each lane sends the steps of a plan of its
/// own, and goes on to other SSDs. No lane waits for another's SSD (a reference).
///
/// Every call is the whole warp's, converged; lanes without a request say so, and all return
/// together.
template <class Channel, placement Placement, class Room>
class warp_io {
  using opcode = wire::nvme::nvm_opcode;
  using plan = io_plan<Placement>;

 public:
  /// @param channel an `exclusive_channel`, the calling warp's
  /// @param room as of `exclusive_channel::execute_each`
  GNSTOR_HD_INLINE warp_io(const plan& how, Channel& channel, const Room& room)
      : plan_(how), channel_(channel), room_(room) {}

  /// Reads one range per lane: piece after piece, each from one replica, and from the next where
  /// that may help.
  template <class Data>
  GNSTOR_HD_INLINE status read(const typename plan::range& r, const Data& data, bool wants) const {
    status outcome;
    if (wants) outcome = plan_.checked(r, data);
    typename plan::template walk<Data> at{r, data};
    std::uint64_t silent = 0;
    io_step step;
    bool asked = false;
    const auto next = [&](const status& last, std::uint32_t, wire::nvme::submission_entry& command,
                          deadline& ends) {
      if (asked && last.code == status_code::timed_out)
        silent |= std::uint64_t{1} << step.ssd().value;
      if (asked && !last.ok() && step.goes_on(last)) {
        step.go_on(last);
      } else {
        if (asked && !(last.ok() && !step.left_behind))
          outcome = combined(outcome, step.ended(last));
        typename plan::piece p;
        if (!plan_.next(opcode::read, at, p)) return false;
        step = plan_.reading(p);
        step.ask_last(silent);
      }
      command = step.command();
      const std::uint32_t left = step.candidates_left();
      ends = left == 1 ? r.ends : share_of(r.ends, simt::now_ns(), left);
      return asked = true;
    };
    channel_.execute_each(warp(), wants && outcome.ok(), next, room_);
    return outcome;
  }

  /// Writes or clears one range per lane: piece after piece, on all replicas at once as far as the
  /// channel has room. A lane takes its answers as they come, and so keeps no slot from others.
  template <class Data>
  GNSTOR_HD_INLINE status write(opcode op, const typename plan::range& r, const Data& data,
                                bool wants) const {
    const simt::group g = warp();
    status outcome;
    if (wants) outcome = plan_.checked(r, data);
    typename plan::template walk<Data> at{r, data};
    typename plan::piece p;
    ticket sent[max_replicas];
    std::uint32_t under_way = 0;  // replicas of the piece, by bit
    std::uint32_t unsent = 0;
    bool more = wants && outcome.ok();
    bool moved = true;
    for (until round{deadline::never()}; moved || round;) {
      if (more && (unsent | under_way) == 0) {
        more = plan_.next(op, at, p);
        if (more) unsent = (1u << p.where.count) - 1;
      }
      if (!g.any((unsent | under_way) != 0)) break;
      const auto k = static_cast<std::uint32_t>(cuda::std::countr_zero(unsent)) % max_replicas;
      if (g.any(unsent != 0)) {
        const bool asks = unsent != 0;
        const result<ticket> t = channel_.submit(g, plan_.writing(op, p, k).command(), asks);
        if (asks && t.status.code != status_code::would_block) {
          unsent &= unsent - 1;
          sent[k] = t.value;
          if (t) under_way |= 1u << k;
          if (!t) outcome = combined(outcome, t.status);
        }
      }
      moved = channel_.poll(g);
      if (g.any(unsent != 0)) moved = room_(g) || moved;
      if (moved) round.progressed();
      const bool in_time = !r.ends.expired(simt::now_ns());
      for (std::uint32_t n = 0; g.any(under_way >> n != 0); ++n) {
        const bool waits = (under_way >> n & 1) != 0;
        const status s = channel_.try_wait(g, sent[n], in_time, nullptr, waits);
        if (!waits || s.code == status_code::would_block) continue;
        outcome = combined(outcome, named(s, p.where.ssd[n].value));
        under_way &= ~(1u << n);
      }
      if (unsent != 0 && !in_time) {
        outcome = combined(outcome, status::make(status_code::timed_out, reporter::volume));
        unsent = 0;
      }
    }
    return outcome;
  }

  /// Flushes every SSD that is not absent: each lane some of them. The outcome is every lane's.
  GNSTOR_HD_INLINE status flush(deadline d) const {
    const simt::group g = warp();
    status outcome;
    const std::uint32_t ssds = plan_.flush_steps();
    for (std::uint32_t k = g.thread_rank(); g.any(k < ssds); k += g.size()) {
      const bool asks = k < ssds;
      const io_step s = plan_.flush_step(asks ? k : 0);
      const status answer = channel_.execute(g, s.command(), d, nullptr, asks);
      if (asks) outcome = combined(outcome, s.ended(answer));
    }
    return combined(g, outcome);
  }

 private:
  /// The owner, of which the compiler knows that it is a whole warp.
  GNSTOR_HD_INLINE static simt::group warp() { return simt::group::whole_warp(); }

  const plan& plan_;
  Channel& channel_;
  Room room_;
};

}  // namespace gnstor::detail
