#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::simt {

/// A thread's position in its block, or a block's in its grid; x is the number that runs fastest.
struct coordinates {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t z = 0;

  GNSTOR_HD friend constexpr bool operator==(const coordinates& a, const coordinates& b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
  }
};

}  // namespace gnstor::simt
