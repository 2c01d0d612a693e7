#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::fw {

/// A check of 16 bits over one part of something that has a check over all of it: it tells which
/// part is still what was written once the check over all has failed. Any one flipped bit shows.
GNSTOR_HD constexpr std::uint16_t part_check(std::uint64_t part) {
  std::uint32_t sum = 0;
  for (int k = 0; k < 64; k += 16)
    sum = (sum << 5 | sum >> 11) % 0x10000 ^ static_cast<std::uint16_t>(part >> k);
  return static_cast<std::uint16_t>(sum);
}

}  // namespace gnstor::fw
