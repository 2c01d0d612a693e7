#pragma once

#include <gnstor/channel/channel.hpp>
#include <gnstor/qp/restartable_queue_pair.hpp>

namespace gnstor::inline v0 {

/// Brings a dead channel back to `ready` while lanes still hold it, in steps that take turns with
/// the peer's: `bar`, the peer drains the queue pair, `settle`, the peer serves it again,
/// `connect`.
///
/// Lanes may be anywhere inside the channel meanwhile, and pay nothing for it: indices only grow,
/// so that what a lane of the former life still does fails or does no harm. Requests of the former
/// life end with `reset`, once each, by the lane that waits for them. A step that fails may be
/// tried again, from `bar` on.
/// @tparam Channel a `channel` of a restartable queue pair
template <class Channel>
class channel_restart {
  static_assert(restartable_queue_pair<typename Channel::queue_pair_type>);
  using table = detail::request_table<thread_scope_device>;

 public:
  GNSTOR_HD explicit channel_restart(const Channel& channel) : channel_(channel) {}

  /// Ends the channel's present life, if it has not ended yet, and waits for lanes that are between
  /// reserving and publishing.
  /// @par Callers one lane at a time, in the domain of the channel's lanes
  /// @par Bound `d`
  /// @par Errors closed; timed_out: a lane holds a reservation
  GNSTOR_HD status bar(deadline d) const {
    if (!end_life()) return status::make(status_code::closed, reporter::channel);
    if (load(state().barred_first) == 0) {
      const queue_bar b = queue().bar();
      store(state().barred_end, b.end);
      store(state().barred_first, b.next);
    }
    for (until more{d}; more && load(state().barred_first) != 0;) {
      if (queue().is_written(load(state().barred_end))) return status{};
    }
    return status::make(status_code::timed_out, reporter::channel);
  }

  /// Takes what the peer had written, waits for lanes that are dealing with completions, and makes
  /// the queue ready for a peer that begins anew. Frees the slots of requests given up.
  /// @par Callers as `bar`, after it, and after the peer has stopped for good: nothing of an
  /// earlier request may write memory or completions any more
  /// @par Bound `d`
  /// @par Errors closed; timed_out: a lane holds a completion or the doorbell
  GNSTOR_HD status settle(deadline d) const {
    const std::uint64_t first = load(state().barred_first);
    bool done = false;
    bool quiet = false;
    for (until more{d}; !done && more;) {
      quiet = quiet || is_quiet();
      done = quiet && queue().restart(first);
    }
    if (!done) return status::make(status_code::timed_out, reporter::channel);
    store(state().settled, queue().taken() - outcomes());
    store(state().last_error, load(state().first_error));
    store(state().first_error, 0);
    store(state().first_index, first);
    store(state().barred_first, 0);
    // Paired with the read-modify-write of a lane that has given up a request: one of the two sees
    // the other.
    if (!detail::phase_word(state()).begin_life())
      return status::make(status_code::closed, reporter::channel);
    requests().reclaim_all();
    return status{};
  }

  /// Sends Fabrics Connect as the first request of the new life: nobody else's goes out before the
  /// target has accepted it.
  /// @param value if not null, dword 0 of the response
  /// @par Callers as `bar`, after `settle`, when the peer serves the queue again
  /// @par Bound `d`
  /// @par Errors as `channel::connect`; flushed: the channel has died again, by the request of a
  /// lane that was in the middle of sending all the time. It then stays unusable until it is reset
  GNSTOR_HD status connect(const connect_options& options, deadline d,
                           std::uint32_t* value = nullptr) const {
    wire::nvme::submission_entry command = options.command();
    result<ticket> mine = requests().claim();
    for (until more{d}; !mine && more;) mine = requests().claim();
    if (!mine) return status::make(status_code::timed_out, reporter::channel);
    const std::uint64_t first = load(state().first_index);
    if (!queue().open(first)) {
      requests().cancel(mine.value);
      return status::make(status_code::not_ready, reporter::channel);
    }
    command.command_id = mine.value.id.value;
    requests().remember(mine.value, {.index = first});
    queue().write_send(first, command);
    queue().publish(first, 1);
    queue().ring();
    word(state().submitted).fetch_add(1, relaxed);
    const status outcome = channel_.wait(mine.value, d, value);
    if (!outcome.ok() || detail::phase_word(state()).open()) return outcome;
    const bool died = phase_in(detail::phase_word(state()).newest()) == channel_phase::error;
    return status::make(died ? status_code::flushed : status_code::closed, reporter::channel);
  }

  /// The same where nobody has to accept the channel: requests may go out.
  /// @par Callers as `bar`, after `settle`, when the peer serves the queue again
  /// @par Errors flushed: the channel has died again; closed
  GNSTOR_HD status open() const {
    if (!detail::phase_word(state()).open()) {
      const bool died = phase_in(detail::phase_word(state()).newest()) == channel_phase::error;
      return status::make(died ? status_code::flushed : status_code::closed, reporter::channel);
    }
    // Everything before the first request of this life has left the queue: the bar falls.
    queue().retire(load(state().first_index) - 1);
    return status{};
  }

 private:
  using word64 = device_word<std::uint64_t>;

  GNSTOR_HD const typename Channel::queue_pair_type& queue() const { return channel_.queue(); }
  GNSTOR_HD channel_state& state() const { return channel_.counters(); }
  GNSTOR_HD table requests() const { return channel_.requests(); }
  GNSTOR_HD static word64 word(std::uint64_t& w) { return word64(w); }
  GNSTOR_HD static std::uint64_t load(std::uint64_t& w) { return word64(w).load(relaxed); }
  GNSTOR_HD static void store(std::uint64_t& w, std::uint64_t value) {
    word64(w).store(value, relaxed);
  }

  /// Outcomes counted so far: each completion taken leads to one, last of all that it leads to. An
  /// answer is counted without order, as what it did before does no harm later: the slot it
  /// completes compares generations.
  GNSTOR_HD std::uint64_t outcomes() const {
    return word(state().completed).load(acquire) + word(state().late).load(acquire) +
           word(state().unknown).load(acquire) + word(state().broken).load(acquire);
  }
  /// True if the completion ring is empty and no lane deals with an entry. A count read too early
  /// is too low, and says no.
  GNSTOR_HD bool is_quiet() const {
    const std::uint64_t before = queue().taken();
    if (channel_.poll() || queue().taken() != before) return false;
    return before - outcomes() == load(state().settled);
  }

  /// False if the channel is closed.
  GNSTOR_HD bool end_life() const {
    std::uint64_t none = 0;
    const status why = status::make(status_code::flushed, reporter::caller);
    const detail::phase_word phase(state());
    if (phase_in(phase.newest()) != channel_phase::error) {
      word(state().first_error).compare_exchange(none, why.pack(), acq_rel);
      (void)phase.fail();
    }
    return phase_in(phase.newest()) == channel_phase::error;
  }

  Channel channel_;
};

}  // namespace gnstor::inline v0
