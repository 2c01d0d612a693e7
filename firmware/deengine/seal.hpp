#pragma once

#include <gnstor/core/config.hpp>

#include <cuda/std/bit>

namespace gnstor::fw {

/// A word of flash that is set once what it stands for is complete, and cleared before that is
/// changed (functions on the word).
///
/// A word that is not set says nothing: whoever wrote there was stopped on the way, or nobody has.
/// One that is set and does not match says that something was damaged. No single bit that flips
/// makes one of the other: a set word has three bits at least.
struct seal {
  /// The word for a checksum.
  GNSTOR_HD static constexpr std::uint64_t of(std::uint64_t sum) { return sum | 7; }
  GNSTOR_HD static constexpr bool is_set(std::uint64_t word) {
    return cuda::std::popcount(word) > 1;
  }
};

static_assert(seal::is_set(seal::of(0) ^ 4) && !seal::is_set(std::uint64_t{1} << 63));

}  // namespace gnstor::fw
