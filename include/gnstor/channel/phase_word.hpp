#pragma once

#include <gnstor/channel/channel_state.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::detail {

/// The word that holds a channel's phase and how often it was reset, and the ways it may change.
class phase_word {
 public:
  GNSTOR_HD explicit phase_word(channel_state& state) : word_(state.phase) {}

  GNSTOR_HD std::uint32_t load() const { return word_.load(acquire); }
  /// The newest value: a read-modify-write, which comes before or after every change.
  GNSTOR_HD std::uint32_t newest() const { return word_.fetch_add(0, acq_rel); }

  /// Connect was accepted. False if the channel has died or was closed meanwhile.
  GNSTOR_HD bool open() const {
    return move(channel_phase::connecting, channel_phase::connecting, channel_phase::ready, 0);
  }
  /// The queue pair is dead. False if that was known, or the channel is closed.
  GNSTOR_HD bool fail() const {
    return move(channel_phase::connecting, channel_phase::ready, channel_phase::error, 0);
  }
  /// A reset is done: the next life begins. False if the channel was closed.
  GNSTOR_HD bool begin_life() const {
    return move(channel_phase::error, channel_phase::error, channel_phase::connecting, 1);
  }
  /// Ends the channel for good, from any phase: `closed` has all bits of a phase.
  GNSTOR_HD void close() const {
    word_.fetch_or(static_cast<std::uint32_t>(channel_phase::closed), acq_rel);
  }

 private:
  /// Moves the phase from either of two. A load that is out of date would take the phase for
  /// another, and the change would be lost.
  /// @par Bound 64 attempts; each that fails is a change by another lane, and there are few
  GNSTOR_HD bool move(channel_phase a, channel_phase b, channel_phase to,
                      std::uint32_t lives) const {
    std::uint32_t seen = newest();
    for (bounded tries{64}; tries && (phase_in(seen) == a || phase_in(seen) == b);) {
      const std::uint32_t next = (resets_in(seen) + lives) << 8 | static_cast<std::uint32_t>(to);
      if (word_.compare_exchange(seen, next, acq_rel)) return true;
    }
    return false;
  }

  device_word<std::uint32_t> word_;
};

}  // namespace gnstor::detail
