#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace gnstor::interop {

/// A piece of a namespace that one command reads or writes.
struct extent {
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  std::uint32_t write = 0;  ///< 1: written from the image; 0: read into the other buffer
};

/// Cuts `[0, total)` into extents of 4 KiB to `most` bytes, in random order: sizes of every
/// magnitude are as likely.
inline std::vector<extent> cut_randomly(std::uint64_t total, std::uint32_t most,
                                        std::mt19937_64& random) {
  constexpr std::uint32_t unit = 4096;
  std::vector<extent> pieces;
  for (std::uint64_t at = 0; at < total;) {
    const std::uint32_t magnitude = unit << random() % 9;  // up to 1 MiB
    std::uint64_t bytes = magnitude + random() % (magnitude / unit) * unit;
    if (bytes > most) bytes = most;
    if (bytes > total - at) bytes = total - at;
    pieces.push_back({at, static_cast<std::uint32_t>(bytes), 0});
    at += bytes;
  }
  std::shuffle(pieces.begin(), pieces.end(), random);
  return pieces;
}

}  // namespace gnstor::interop
