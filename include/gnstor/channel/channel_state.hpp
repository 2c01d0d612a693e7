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
  alignas(128) std::uint32_t phase;  ///< channel_phase
  std::uint32_t owner;               ///< of an exclusive channel, in debug builds: its warp + 1
  alignas(8) std::uint64_t
      first_error;  ///< `status::pack()` of the error that killed the queue pair
  alignas(128) std::uint64_t submitted;  ///< requests sent
  std::uint64_t completed;               ///< answers delivered to a waiter
  std::uint64_t late;                    ///< answers to requests that had been given up
  std::uint64_t unknown;                 ///< answers to no request: duplicates
  std::uint64_t timed_out;               ///< requests given up at their deadline
};

static_assert(std::is_trivially_copyable_v<channel_state> && sizeof(channel_state) == 256);

}  // namespace gnstor::inline v0
