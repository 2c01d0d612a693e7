#pragma once

#include <gnstor/channel/channel_set.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/io/async_io.hpp>
#include <gnstor/io/io_plan.hpp>
#include <gnstor/simt/clock.hpp>

namespace gnstor::detail {

/// I/O of single lanes on channels that they share: each sends the steps of its plan, waits for the
/// answers, and goes on to other SSDs (a reference).
///
/// Lanes of a warp that come together send together; otherwise none knows of the others.
template <class Channel, placement Placement>
class lane_io {
  using opcode = wire::nvme::nvm_opcode;
  using plan = io_plan<Placement>;

 public:
  GNSTOR_HD lane_io(const plan& how, const channel_set<Channel>& channels)
      : plan_(how), channels_(channels) {}

  /// Reads a range, piece after piece, each from one replica.
  /// @par Callers any lane, converged or not
  /// @par Bound that of `r`
  template <class Data>
  GNSTOR_HD status read(const typename plan::range& r, const Data& data) const {
    status outcome = plan_.checked(r, data);
    if (!outcome.ok()) return outcome;
    std::uint64_t silent = 0;
    plan_.for_pieces(opcode::read, r, data, [&](const typename plan::piece& p) {
      outcome = combined(outcome, from_any(plan_.reading(p), r.ends, silent));
    });
    return outcome;
  }
  /// Writes or clears a range, piece after piece, each on all of its replicas.
  /// @par Callers, Bound as `read`
  template <class Data>
  GNSTOR_HD status write(opcode op, const typename plan::range& r, const Data& data) const {
    status outcome = plan_.checked(r, data);
    if (!outcome.ok()) return outcome;
    plan_.for_pieces(op, r, data, [&](const typename plan::piece& p) {
      // The time is up: what would be sent now could only be given up, and would keep its slot.
      if (outcome.left_behind()) return;
      const auto replica = [&](std::uint32_t k) { return plan_.writing(op, p, k); };
      outcome = combined(outcome, to_all(p.where.count, replica, r.ends));
    });
    return outcome;
  }

  /// Flushes every SSD that is not absent.
  GNSTOR_HD status flush(deadline d) const {
    status outcome;
    const std::uint32_t ssds = plan_.flush_steps();
    for (std::uint32_t k = 0; k < ssds; k += max_replicas) {
      const std::uint32_t some = ssds - k < max_replicas ? ssds - k : max_replicas;
      const std::uint32_t turns = (ssds - k + max_replicas - 1) / max_replicas;
      const auto step = [&](std::uint32_t j) { return plan_.flush_step(k + j); };
      // A silent SSD takes the time of those beside it, not that of all.
      const deadline turn = share_of(d, simt::now_ns(), turns);
      outcome = combined(outcome, to_all(some, step, turn));
    }
    return outcome;
  }

 private:
  struct in_flight {
    ticket sent{};
    ssd_index ssd{};
  };

  /// Asks one SSD, and the next where another one may do better.
  /// @param silent the SSDs that did not answer an earlier step, by bit: they are asked last
  GNSTOR_HD status from_any(io_step step, deadline d, std::uint64_t& silent) const {
    const Channel channel = channels_.mine();
    step.ask_last(silent);
    status answer;
    for (bounded tries{max_replicas}; tries; step.go_on(answer)) {
      const std::uint32_t left = step.candidates_left();
      const deadline turn = left == 1 ? d : share_of(d, simt::now_ns(), left);
      answer = execute(channel, step.command(), turn);
      if (answer.ok()) break;  // mostly so: nothing else is computed for it
      if (answer.code == status_code::timed_out) silent |= std::uint64_t{1} << step.ssd().value;
      if (!step.goes_on(answer)) break;
    }
    return step.ended(answer);
  }

  /// Sends `count` steps, `max_replicas` at most, at once as far as the channel has room, and waits
  /// for all.
  /// @param step `step(k)` is the k-th of them
  template <class Step>
  GNSTOR_HD status to_all(std::uint32_t count, const Step& step, deadline d) const {
    const Channel channel = channels_.mine();
    in_flight sent[max_replicas];
    std::uint32_t sent_count = 0;
    std::uint32_t settled = 0;
    status outcome;
    for (std::uint32_t k = 0; k < count; ++k) {
      // Made anew for each attempt: mostly there is one, and a command is 16 registers.
      const auto submit = [&] { return channel.submit(step(k).command()); };
      result<ticket> t = submit();
      for (until more{d}; more && t.status.code == status_code::would_block;) {
        // A lane that waits for a slot holds none: lanes with one slot each would wait for each
        // other.
        if (settled < sent_count) {
          outcome = combined(outcome, answer_to(channel, sent[settled++], d));
        } else {
          (void)make_room(channel);
        }
        t = submit();
      }
      if (t) {
        sent[sent_count++] = in_flight{t.value, step(k).ssd()};
      } else {
        const bool late = t.status.code == status_code::would_block;
        outcome = combined(
            outcome, late ? status::make(status_code::timed_out, reporter::volume) : t.status);
      }
    }
    for (; settled < sent_count; ++settled)
      outcome = combined(outcome, answer_to(channel, sent[settled], d));
    return outcome;
  }
  GNSTOR_HD static status answer_to(const Channel& channel, const in_flight& request, deadline d) {
    return named(channel.wait(request.sent, d), request.ssd.value);
  }

  /// Request slots may be held by steps that no lane waits for.
  static constexpr bool shared_with_steps = requires(const Channel& c) { c.step_memory(); };

  GNSTOR_HD static status execute(const Channel& channel,
                                  const wire::nvme::submission_entry& command, deadline d) {
    if constexpr (shared_with_steps) {
      return channel.execute_making_room(command, d, [&] { return make_room(channel); });
    } else {
      return channel.execute(command, d);
    }
  }
  GNSTOR_HD_SLOW static bool make_room(const Channel channel) {
    if constexpr (shared_with_steps) {
      return async_io<Channel>(channel).make_room();
    } else {
      return channel.poll();
    }
  }

  const plan& plan_;
  const channel_set<Channel>& channels_;
};

}  // namespace gnstor::detail
