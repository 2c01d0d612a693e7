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

static_assert(mix64(0) == 0 && mix64(1) != mix64(2));

}  // namespace gnstor::inline v0
