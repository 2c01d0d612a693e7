#pragma once

#include <gnstor/core/hash.hpp>

#include <cstdint>

namespace gnstor::benchmarks {

inline constexpr std::uint32_t block_words = 512;  ///< 64-bit words of a block of 4 KiB

/// What word `word` of block `block` holds after `generation` writes.
GNSTOR_HD inline std::uint64_t pattern(std::uint64_t block, std::uint32_t word,
                                       std::uint32_t generation) {
  return mix64((block * block_words + word + 1) ^ std::uint64_t{generation} << 56);
}

}  // namespace gnstor::benchmarks
