#pragma once

#include <gnstor/simt_host/mode.hpp>

#include <cstddef>
#include <cstdint>

namespace gnstor::simt::host {

/// What an executor is given once: mode, seed and limits. Equal options replay the same schedule,
/// except in fast mode beside real threads.
struct options {
  mode run = mode::fast;
  /// Draws the strategy and every scheduling decision of the seeded and weak modes.
  std::uint64_t seed = 0;
  /// Scheduling points after which the seeded and weak modes report a livelock. Fast mode has no
  /// limit: real firmware threads may keep a polling lane waiting for long.
  std::uint64_t step_budget = 2'000'000;
  /// Bytes of a lane's stack; sanitizer builds take four times as much.
  std::size_t stack_bytes = std::size_t{64} << 10;
  /// Virtual nanoseconds that one scheduling point takes in the seeded and weak modes.
  std::uint64_t ns_per_step = 10;
};

}  // namespace gnstor::simt::host
