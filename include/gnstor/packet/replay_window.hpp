#pragma once

#include <gnstor/simt/atomic_ref.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// Which sequence numbers have come, of the last `places`: each is accepted once, whatever lanes
/// ask at the same time. RFC 4303, 3.4.3.
///
/// Each place has the highest number that was accepted of those that fall to it, so that one atomic
/// maximum both asks and answers. Zeroed before its first use; shared by the lanes of an
/// association.
struct replay_window {
  static constexpr std::uint32_t places = 1024;

  std::uint32_t highest;           ///< of all
  std::uint32_t accepted[places];  ///< of the numbers that are equal modulo `places`

  /// True if a number may be new: for before the packet is authenticated.
  GNSTOR_HD bool may_be_new(std::uint32_t sequence) {
    const std::uint32_t top = word(highest).load(relaxed);
    const bool is_within = sequence >= top || top - sequence < places;
    return sequence != 0 && is_within && word(accepted[sequence % places]).load(relaxed) < sequence;
  }
  /// Accepts a number, for after the packet was authenticated. False if it came before.
  GNSTOR_HD bool accept(std::uint32_t sequence) {
    if (!may_be_new(sequence)) return false;
    const bool is_first = word(accepted[sequence % places]).fetch_max(sequence, relaxed) < sequence;
    word(highest).fetch_max(sequence, relaxed);
    return is_first;
  }

 private:
  GNSTOR_HD static atomic_ref<std::uint32_t, thread_scope_device> word(std::uint32_t& w) {
    return atomic_ref<std::uint32_t, thread_scope_device>(w);
  }
};

static_assert(std::is_trivial_v<replay_window>);

}  // namespace gnstor::inline v0
