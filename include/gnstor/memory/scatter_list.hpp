#pragma once

#include <gnstor/memory/io_buffer.hpp>

namespace gnstor::inline v0 {

/// Registered memory in several places, filled or drained one after another by one I/O.
///
/// A reference: the segments stay the caller's, in memory that the calling lane reads, until the
/// call returns. Each may lie in a region of its own.
struct scatter_list {
  const io_buffer* segments = nullptr;  ///< each a multiple of 4096 bytes
  std::uint32_t count = 0;

  GNSTOR_HD constexpr std::uint64_t bytes() const {
    std::uint64_t n = 0;
    for (std::uint32_t k = 0; k < count; ++k) n += segments[k].bytes;
    return n;
  }
  /// True if segment boundaries are boundaries of `unit` bytes.
  GNSTOR_HD constexpr bool whole(std::uint32_t unit) const {
    for (std::uint32_t k = 0; k < count; ++k) {
      if (segments[k].bytes % unit != 0) return false;
    }
    return true;
  }
};

}  // namespace gnstor::inline v0
