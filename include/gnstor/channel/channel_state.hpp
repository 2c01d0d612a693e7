#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// The life of a channel.
enum class channel_phase : std::uint32_t {
  connecting = 0,  ///< the host has joined the queue pair; the device has not sent Connect yet
  ready,
  error,   ///< the queue pair is dead; `first_error` says why. Only the host can reset it
  closed,  ///< closed by its owner
};

/// The shared words of a channel beside its queues and its request table.
struct channel_state {
  alignas(128) std::uint32_t phase;  ///< channel_phase, and the number of resets << 8
  std::uint32_t owner;               ///< of an exclusive channel, in debug builds: its warp + 1
  alignas(8) std::uint64_t
      first_error;             ///< `status::pack()` of the error that killed the queue pair
  std::uint64_t last_error;    ///< likewise, of the life before the last reset
  std::uint64_t first_index;   ///< the send queue's first index after the last reset
  std::uint64_t barred_end;    ///< while a reset is under way: requests before this one were sent
  std::uint64_t barred_first;  ///< and the index the queue is to go on with; 0: no reset
  std::uint64_t settled;       ///< completions taken minus outcomes counted, with no lane between
  alignas(128) std::uint64_t submitted;  ///< requests sent
  std::uint64_t completed;               ///< answers delivered to a waiter
  std::uint64_t late;                    ///< answers to requests that had been given up
  std::uint64_t unknown;                 ///< answers to no request: duplicates
  std::uint64_t timed_out;               ///< requests given up at their deadline
  std::uint64_t broken;                  ///< failures that named no request
};

/// The phase in the word that holds it, and how often the channel was reset before.
GNSTOR_HD constexpr channel_phase phase_in(std::uint32_t word) {
  return static_cast<channel_phase>(word & 0xff);
}
GNSTOR_HD constexpr std::uint32_t resets_in(std::uint32_t word) { return word >> 8; }

static_assert(std::is_trivially_copyable_v<channel_state> && sizeof(channel_state) == 256);

}  // namespace gnstor::inline v0
