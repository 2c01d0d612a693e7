#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// A part of a file, and where it lies on its device; all in bytes.
struct file_piece {
  std::uint64_t file_offset = 0;
  std::uint64_t device_offset = nowhere;
  std::uint64_t bytes = 0;

  /// Of a part that reads zeroes: a hole, or blocks that were never written.
  static constexpr std::uint64_t nowhere = ~std::uint64_t{0};

  GNSTOR_HD constexpr bool is_stored() const { return device_offset != nowhere; }
  GNSTOR_HD constexpr std::uint64_t end() const { return file_offset + bytes; }
};

static_assert(sizeof(file_piece) == 24 && std::is_trivially_copyable_v<file_piece>);

}  // namespace gnstor::inline v0
