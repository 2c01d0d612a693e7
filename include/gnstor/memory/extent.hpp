#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0 {

/// A contiguous part of a pool, in bytes from the pool's start.
struct extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  GNSTOR_HD friend constexpr bool operator==(const extent& a, const extent& b) {
    return a.offset == b.offset && a.bytes == b.bytes;
  }
};

static_assert(sizeof(extent) == 16);

}  // namespace gnstor::inline v0
