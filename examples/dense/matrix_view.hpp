#pragma once

#include <gnstor/core/config.hpp>

#include <cstdint>

namespace dense {

/// A matrix of floats by rows, whose elements lie on pages.
///
/// Kernels work on tiles: `tile` neighbouring columns of a row, which are on one page. So `pitch`
/// is a multiple of `tile`, and `tile` is one of 32 and divides a page.
/// @tparam View `array_view`, or `support::pointer_view`
template <class View>
struct matrix_view {
  static constexpr std::uint32_t most_columns = 1024;  ///< of a tile

  View elements;
  std::uint32_t rows;
  std::uint32_t columns;
  std::uint64_t pitch;  ///< elements from a row to the next one
  std::uint32_t tile;

  GNSTOR_HD std::uint32_t tiles() const { return (columns + tile - 1) / tile; }
  /// Index of an element.
  GNSTOR_HD std::uint64_t at(std::uint64_t row, std::uint32_t column) const {
    return row * pitch + column;
  }
};

/// The columns of a tile where pages have so many elements.
constexpr std::uint32_t tile_of(std::uint64_t page_elements) {
  return page_elements < 1024 ? static_cast<std::uint32_t>(page_elements) : 1024;
}
static_assert(tile_of(128) == 128 && tile_of(16384) == 1024);

/// Elements from a row to the next one: whole tiles.
constexpr std::uint64_t pitch_of(std::uint32_t columns, std::uint32_t tile) {
  return (std::uint64_t{columns} + tile - 1) / tile * tile;
}

/// What is stored at a row and a column: small whole numbers of both signs, so that sums of
/// products are whole numbers of few digits, and floats hold them exactly in whatever order they
/// are formed.
GNSTOR_HD constexpr float entry_at(std::uint64_t row, std::uint32_t column) {
  const std::uint32_t mixed = static_cast<std::uint32_t>(row) * 0x9e3779b1u ^ column * 0x85ebca77u;
  return static_cast<float>(static_cast<int>((mixed ^ mixed >> 15) * 0x2c1b3c6du >> 16) % 5 - 2);
}

}  // namespace dense
