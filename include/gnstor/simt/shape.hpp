#pragma once

#include <gnstor/simt/coordinates.hpp>

namespace gnstor::simt {

/// How many threads a block has, or blocks a grid, along x, y and z: CUDA's `dim3`, on both
/// machines. One number is a line.
struct shape {
  std::uint32_t x;
  std::uint32_t y;
  std::uint32_t z;

  GNSTOR_HD constexpr shape(std::uint32_t along_x = 1, std::uint32_t along_y = 1,
                            std::uint32_t along_z = 1)
      : x(along_x), y(along_y), z(along_z) {}
#if defined(__CUDACC__)
  GNSTOR_HD constexpr shape(const ::dim3& d) : x(d.x), y(d.y), z(d.z) {}
#endif

  GNSTOR_HD constexpr std::uint32_t count() const { return x * y * z; }
  /// The index of a position, as CUDA numbers threads: x + y * Dx + z * Dx * Dy.
  GNSTOR_HD constexpr std::uint32_t index_of(const coordinates& at) const {
    return at.x + x * (at.y + y * at.z);
  }
  /// The coordinates of an index.
  GNSTOR_HD constexpr coordinates coordinates_of(std::uint32_t index) const {
    return {index % x, index / x % y, index / x / y};
  }
};

static_assert(shape(8, 6, 2).count() == 96 && shape(48).count() == 48);
static_assert(shape(8, 6, 2).index_of({3, 5, 1}) == 3 + 5 * 8 + 1 * 48);
static_assert(shape(8, 6, 2).coordinates_of(91) == coordinates{3, 5, 1});

}  // namespace gnstor::simt
