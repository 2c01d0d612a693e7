#pragma once

#include <gnstor/channel/memory_channel.hpp>
#include <gnstor/qp/restartable_queue_pair.hpp>

namespace gnstor::inline v0 {

/// Brings a dead memory channel back to `ready` while lanes still hold it, in steps that take turns
/// with the NIC's: `bar`, the NIC drains the queue pair, `settle`, the NIC serves it again, `open`.
///
/// As `channel_restart`: lanes may be anywhere inside the channel meanwhile, indices only grow, and
/// a step that fails may be tried again, from `bar` on. There is no Connect, and no table whose
/// slots have to come back: a transfer of the former life is known by its index.
/// @tparam Channel a `memory_channel` of a restartable queue pair
template <class Channel>
class memory_channel_restart {
  static_assert(restartable_queue_pair<typename Channel::queue_pair_type>);

 public:
  GNSTOR_HD explicit memory_channel_restart(const Channel& channel) : channel_(channel) {}

  /// Ends the channel's present life, if it has not ended yet, and waits for lanes that are between
  /// reserving and publishing.
  /// @par Callers one lane at a time, in the domain of the channel's lanes
  /// @par Bound `d`
  /// @par Errors closed; timed_out: a lane holds a reservation
  GNSTOR_HD status bar(deadline d) const {
    if (!end_life()) return status::make(status_code::closed, reporter::channel);
    if (load(common().barred_first) == 0) {
      const queue_bar b = queue().bar();
      store(common().barred_end, b.end);
      store(common().barred_first, b.next);
    }
    for (until more{d}; more && load(common().barred_first) != 0;) {
      if (queue().is_written(load(common().barred_end))) return status{};
    }
    return status::make(status_code::timed_out, reporter::channel);
  }

  /// Takes what the NIC had completed, waits for lanes that are dealing with completions, and makes
  /// the queue ready for a NIC that begins anew.
  /// @par Callers as `bar`, after it, and after the NIC has stopped for good: nothing of an earlier
  /// transfer may move bytes or write completions any more
  /// @par Bound `d`
  /// @par Errors closed; timed_out: a lane holds a completion or the doorbell
  GNSTOR_HD status settle(deadline d) const {
    const std::uint64_t first = load(common().barred_first);
    bool done = false;
    bool quiet = false;
    for (until more{d}; !done && more;) {
      quiet = quiet || is_quiet();
      done = quiet && queue().restart(first);
    }
    if (!done) return status::make(status_code::timed_out, reporter::channel);
    memory_channel_state& s = channel_.state();
    store(common().settled, queue().taken() - outcomes());
    store(common().last_error, load(common().first_error));
    store(common().first_error, 0);
    store(s.failed, 0);
    // In this order: paired with the acquire loads of who asks about a former transfer, so that the
    // end of a life is never taken together with the beginning of the one before it.
    store(s.former_first, load(s.first));
    word(s.former_end).store(load(s.completed), release);
    word(s.first).store(first, release);
    store(common().first_index, first);
    store(common().barred_first, 0);
    // Releases all of that to who finds the phase, and so to who sees what the new life completes.
    if (!phase().begin_life()) return status::make(status_code::closed, reporter::channel);
    return status{};
  }

  /// Lets transfers begin again.
  /// @par Callers as `bar`, after `settle`, when the NIC serves the queue again
  /// @par Errors closed
  GNSTOR_HD status open() const {
    if (!phase().open()) return status::make(status_code::closed, reporter::channel);
    queue().retire(load(channel_.state().first) - 1);  // the bar falls
    return status{};
  }

 private:
  using word = device_word<std::uint64_t>;

  GNSTOR_HD const typename Channel::queue_pair_type& queue() const { return channel_.queue(); }
  GNSTOR_HD channel_state& common() const { return channel_.counters(); }
  GNSTOR_HD detail::phase_word phase() const { return detail::phase_word(common()); }
  GNSTOR_HD static std::uint64_t load(std::uint64_t& w) { return word(w).load(relaxed); }
  GNSTOR_HD static void store(std::uint64_t& w, std::uint64_t value) {
    word(w).store(value, relaxed);
  }

  /// Outcomes counted so far: each completion taken leads to one, last of all that it leads to.
  GNSTOR_HD std::uint64_t outcomes() const {
    return word(common().completed).load(acquire) + word(common().broken).load(acquire);
  }
  /// True if the completion ring is empty and no lane deals with an entry. A count read too early
  /// is too low, and says no.
  GNSTOR_HD bool is_quiet() const {
    const std::uint64_t before = queue().taken();
    if (channel_.poll() || queue().taken() != before) return false;
    return before - outcomes() == load(common().settled);
  }

  /// False if the channel is closed.
  GNSTOR_HD bool end_life() const {
    std::uint64_t none = 0;
    const status why = status::make(status_code::flushed, reporter::caller);
    if (phase_in(phase().newest()) != channel_phase::error) {
      word(common().first_error).compare_exchange(none, why.pack(), acq_rel);
      (void)phase().fail();
    }
    return phase_in(phase().newest()) == channel_phase::error;
  }

  Channel channel_;
};

}  // namespace gnstor::inline v0
