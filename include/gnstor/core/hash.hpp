#pragma once
/// Integer mixing for placement and hashing.

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0 {

/// Mixes 64 bits so that every input bit reaches every output bit (the finaliser of SplitMix64).
GNSTOR_HD constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

/// Mixes 32 bits likewise, in a third of the instructions on a GPU (multipliers and shifts found by
/// Wellons, hash-prospector).
GNSTOR_HD constexpr std::uint32_t mix32(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7FEB352Du;
  x = (x ^ (x >> 15)) * 0x846CA68Bu;
  return x ^ (x >> 16);
}

static_assert(mix64(0) == 0 && mix64(1) != mix64(2));
static_assert(mix32(0) == 0 && mix32(1) != mix32(2));

}  // namespace gnstor::inline v0
