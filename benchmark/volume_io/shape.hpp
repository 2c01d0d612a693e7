#pragma once

#include "setup.hpp"
#include <gnstor/core/units.hpp>

namespace gnstor::benchmarks {

/// One benchmark of the grid.
struct shape {
  setup on;
  std::uint32_t bytes = block_bytes;  ///< of one operation
  bool random = true;
  bool writes = false;
  std::uint32_t channels = 32;
  std::uint32_t warps = 4;  ///< a channel
  bool alone = false;       ///< one warp per channel, which has it to itself

  std::uint32_t blocks() const { return bytes / block_bytes; }
  /// As in "host/rand/4096".
  std::string where() const {
    return on.media + (random ? "/rand/" : "/seq/") + std::to_string(bytes);
  }
  std::string crew_name() const {
    return "/channels:" + std::to_string(channels) +
           (alone ? "" : "/warps:" + std::to_string(warps));
  }
};

}  // namespace gnstor::benchmarks
