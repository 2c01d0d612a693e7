#pragma once

#include "random.hpp"

namespace gnstor::simt::host {

/// How one seed schedules. Drawn, not fixed: some faults show only under rare switches, some only
/// when groups are small, some only when one party is slow.
struct strategy {
  enum class grouping : std::uint8_t { largest, subset, alone };
  enum class victim : std::uint8_t { none, lane, grid };

  std::uint32_t switch_one_in =
      1;  ///< at a scheduling point, a switch happens one time in this many
  grouping groups = grouping::largest;
  victim slow = victim::none;
  std::uint32_t stale_of_8 = 4;  ///< weak mode: loads in eight that may return an older store

  static strategy draw(random& from) {
    constexpr std::uint32_t rates[] = {1, 2, 4, 8, 32, 128};
    constexpr std::uint32_t stale[] = {2, 4, 7};
    strategy s;
    s.switch_one_in = rates[from.below(6)];
    s.groups = static_cast<grouping>(from.below(3));
    s.slow = static_cast<victim>(from.below(3));
    s.stale_of_8 = stale[from.below(3)];
    return s;
  }
};

}  // namespace gnstor::simt::host
