#pragma once

#include <gnstor/core/config.hpp>

#include <cuda/std/bit>

#include <cstdint>

namespace gnstor::inline v0 {

/// Counts of latencies in nanoseconds, by buckets that are at most 1/16 wide: lanes count them, the
/// host reads percentiles off them.
struct latency_histogram {
  static constexpr std::uint32_t steps = 16;  ///< of each power of two
  static constexpr std::uint32_t buckets = 48 * steps;

  std::uint32_t count[buckets];

  GNSTOR_HD static constexpr std::uint32_t bucket_of(std::uint64_t ns) {
    if (ns < steps) return static_cast<std::uint32_t>(ns);
    const auto power = static_cast<std::uint32_t>(cuda::std::bit_width(ns)) - 5;
    const auto step = static_cast<std::uint32_t>(ns >> power) & (steps - 1);
    const std::uint32_t bucket = (power + 1) * steps + step;
    return bucket < buckets ? bucket : buckets - 1;
  }
  /// The largest latency that is counted in a bucket.
  GNSTOR_HD static constexpr std::uint64_t most_of(std::uint32_t bucket) {
    if (bucket < steps) return bucket;
    const std::uint32_t power = bucket / steps - 1;
    return ((std::uint64_t{bucket % steps + steps} + 1) << power) - 1;
  }

  std::uint64_t total() const {
    std::uint64_t n = 0;
    for (const std::uint32_t c : count) n += c;
    return n;
  }
  /// The latency that `share` (0 to 1) of all do not exceed; 0 if there are none.
  std::uint64_t percentile(double share) const {
    const auto wanted = static_cast<double>(total()) * share;
    std::uint64_t n = 0;
    for (std::uint32_t k = 0; k < buckets; ++k) {
      n += count[k];
      if (count[k] != 0 && static_cast<double>(n) >= wanted) return most_of(k);
    }
    return 0;
  }
};

static_assert(latency_histogram::bucket_of(15) == 15 && latency_histogram::bucket_of(16) == 16);
static_assert(latency_histogram::most_of(16) == 16 && latency_histogram::most_of(31) == 31);
static_assert(latency_histogram::bucket_of(32) == 32 && latency_histogram::bucket_of(33) == 32);
static_assert(latency_histogram::most_of(latency_histogram::bucket_of(1000)) >= 1000 &&
              latency_histogram::most_of(latency_histogram::bucket_of(1000)) <= 1063);

}  // namespace gnstor::inline v0
