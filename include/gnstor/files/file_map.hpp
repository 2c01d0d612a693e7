#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/files/file_piece.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// Where a file lies: its pieces, in memory that lanes reach. From byte 0 to its length without a
/// gap, in order, none empty.
class file_map {
 public:
  file_map() = default;
  GNSTOR_HD file_map(const file_piece* pieces, std::uint32_t count)
      : pieces_(pieces), count_(count) {}

  GNSTOR_HD std::uint32_t count() const { return count_; }

  /// What stands from byte `offset` on, to the end of its piece; nothing (0 bytes) behind the end.
  /// @par Bound 33 loads
  GNSTOR_HD file_piece from(std::uint64_t offset) const {
    std::uint32_t low = 0;
    std::uint32_t high = count_;
    // The last piece that does not begin behind `offset`.
    for (bounded halvings{33}; halvings && high - low > 1;) {
      const std::uint32_t middle = low + (high - low) / 2;
      (pieces_[middle].file_offset <= offset ? low : high) = middle;
    }
    if (count_ == 0) return {};
    file_piece p = pieces_[low];
    if (offset < p.file_offset || offset >= p.end()) return {offset, file_piece::nowhere, 0};
    const std::uint64_t skipped = offset - p.file_offset;
    p.file_offset = offset;
    if (p.is_stored()) p.device_offset += skipped;
    p.bytes -= skipped;
    return p;
  }

 private:
  const file_piece* pieces_ = nullptr;
  std::uint32_t count_ = 0;
};

static_assert(std::is_trivially_copyable_v<file_map>);

}  // namespace gnstor::inline v0
