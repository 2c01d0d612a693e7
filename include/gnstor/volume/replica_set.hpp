#pragma once

#include <gnstor/core/units.hpp>

namespace gnstor::inline v0 {

inline constexpr std::uint32_t max_replicas = 8;  ///< replicas of one stripe
inline constexpr std::uint32_t max_ssds = 64;     ///< SSDs of one array

/// The SSDs that hold one stripe, best first.
struct replica_set {
  std::uint32_t count = 0;
  ssd_index ssd[max_replicas];

  GNSTOR_HD constexpr bool contains(ssd_index who) const {
    for (std::uint32_t k = 0; k < count; ++k) {
      if (ssd[k] == who) return true;
    }
    return false;
  }
};

}  // namespace gnstor::inline v0
