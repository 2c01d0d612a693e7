#pragma once

#include <cstdint>

namespace gnstor::simt::host {

/// A splitmix64 generator: small, fast, and the same on every machine, so that a seed replays
/// everywhere.
class random {
 public:
  explicit random(std::uint64_t seed) : state_(seed * 0x2545f4914f6cdd1dull + 77) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// A number below `bound`, which is not 0.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>((next() >> 32) * bound >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace gnstor::simt::host
