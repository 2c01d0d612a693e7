#pragma once

#include <gnstor/wire/ethernet/numbered_frame.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// What a `numbered_sink` has seen, readable by the CPU while it runs.
struct numbered_counts {
  std::uint64_t sound;      ///< frames, as they were made
  std::uint64_t unsound;    ///< numbered ones of which other bytes changed
  std::uint64_t foreign;    ///< frames that are not numbered, or of another stream
  std::uint64_t reordered;  ///< sound ones that came after a higher number of the same lane
  std::uint64_t next;       ///< the highest number of all, and 1
  std::uint64_t digest;     ///< of the numbers of sound ones, whatever their order

  /// Counts also what another sink has seen of the same stream.
  void add(const numbered_counts& other) {
    sound += other.sound;
    unsound += other.unsound;
    foreign += other.foreign;
    reordered += other.reordered;
    if (other.next > next) next = other.next;
    digest += other.digest;
  }
  /// Numbers below the highest that did not come.
  std::uint64_t missing() const { return sound < next ? next - sound : 0; }
  /// True if the numbers from 0 to the highest came, each of them once. @par Bound `next` hashes
  bool is_complete() const {
    if (sound != next) return false;
    std::uint64_t all = 0;
    for (std::uint64_t n = 0; n < next; ++n) all += wire::ethernet::numbered_frame::digest_of(n);
    return all == digest;
  }
};

static_assert(std::is_trivial_v<numbered_counts>);

}  // namespace gnstor::inline v0
