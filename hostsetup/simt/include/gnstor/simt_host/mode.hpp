#pragma once

#include <cstdint>

namespace gnstor::simt::host {

/// How the host runtime schedules lanes. Each mode finds faults that the others cannot see.
enum class mode : std::uint8_t {
  /// A lane runs until a collective, a barrier, a pause, or 64 atomics in a row. Finds logic
  /// errors; blind to races.
  fast,
  /// A switch before and after every atomic, grouping and strategy drawn from the seed. Finds bad
  /// interleavings,
  /// livelocks and wrong scopes; blind to wrong memory orders, because every load sees the last
  /// store.
  seeded,
  /// `seeded`, and a load may return any store that coherence and happens-before allow. Finds wrong
  /// memory orders of
  /// atomics; blind to races on plain payload (ThreadSanitizer finds those) and to load buffering.
  weak,
};

}  // namespace gnstor::simt::host
