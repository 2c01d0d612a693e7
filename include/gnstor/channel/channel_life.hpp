#pragma once

#include <gnstor/channel/channel_refusal.hpp>
#include <gnstor/channel/phase_word.hpp>
#include <gnstor/channel/request_table.hpp>

namespace gnstor::detail {

/// What the death and the resets of a channel mean for its requests in flight (a reference).
///
/// Indices of the send queue only grow, so that a request's index tells in which life of the
/// channel it was sent.
class channel_life {
  using table = request_table<thread_scope_device>;

 public:
  GNSTOR_HD channel_life(channel_state& state, table requests)
      : state_(&state), requests_(requests) {}

  GNSTOR_HD phase_word phase() const { return phase_word(*state_); }

  /// How requests end that another one's failure killed.
  GNSTOR_HD status broken_status() const { return killed_by(first_error()); }
  /// ok if the channel is in the phase `wanted`; else why it sends nothing.
  GNSTOR_HD status usable_in(channel_phase wanted) const {
    const channel_phase now = phase_in(phase().load());
    return now == wanted ? status{} : refusal(now, first_error());
  }

  /// True if the answer to `t` will not come: the channel is dead, or was reset since.
  GNSTOR_HD bool is_lost(ticket t) const {
    const std::uint32_t word = phase().load();
    if (phase_in(word) == channel_phase::error) return true;
    return resets_in(word) != 0 && is_of_earlier_life(word, requests_.recall(t.id).value.index);
  }

  /// Ends the wait for a request with `why`, with `reset` if the channel was reset since it was
  /// sent, or with its answer if that came in time after all.
  /// @param value if not null, dwords 0 and 1 of the answer
  GNSTOR_HD status give_up(ticket t, status why, std::uint64_t* value) const {
    const std::uint64_t index = requests_.recall(t.id).value.index;
    if (!requests_.abandon(t)) return requests_.take_wide(t, value);
    return given_up(t, index, why);
  }
  /// The same for a request that nobody waits for, if it still is the one of `phase_of_slot`; else
  /// would_block.
  GNSTOR_HD status give_up_exactly(std::uint32_t slot, std::uint64_t phase_of_slot,
                                   status why) const {
    const ticket t = requests_.ticket_of(slot);
    const std::uint64_t index = requests_.recall(t.id).value.index;
    if (!requests_.abandon_exactly(slot, phase_of_slot))
      return status::make(status_code::would_block, reporter::channel);
    return given_up(t, index, why);
  }

 private:
  GNSTOR_HD std::uint64_t first_error() const {
    return device_word<std::uint64_t>(state_->first_error).load(relaxed);
  }
  /// True if the request at `index` was sent before a reset that is done: `word` is the phase word.
  GNSTOR_HD bool is_of_earlier_life(std::uint32_t word, std::uint64_t index) const {
    return resets_in(word) != 0 &&
           index < device_word<std::uint64_t>(state_->first_index).load(relaxed);
  }
  GNSTOR_HD status given_up(ticket t, std::uint64_t index, status why) const {
    // A read-modify-write: either this lane sees the reset, or the reset, which changes the same
    // word, sees the request given up. Who sees it frees the slot.
    const std::uint32_t word = phase().newest();
    if (!is_of_earlier_life(word, index)) return why;
    (void)requests_.reclaim(t);
    status gone = status::unpack(device_word<std::uint64_t>(state_->last_error).load(relaxed));
    gone.code = status_code::reset;
    gone.by = reporter::channel;
    return gone;
  }

  channel_state* state_;
  table requests_;
};

}  // namespace gnstor::detail
