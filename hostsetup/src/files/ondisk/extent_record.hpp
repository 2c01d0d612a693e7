#pragma once

#include "files/ondisk/big_endian.hpp"

namespace gnstor::host::files::xfs {

/// An extent of a file, 128 bits: a flag (unwritten), 54 bits of offset in the file, 52 of block on
/// the device, 21 of length; all in blocks. XFS Algorithms & Data Structures, "Extent List".
struct extent_record {
  big64 high;
  big64 low;

  constexpr bool unwritten() const { return high >> 63 != 0; }
  constexpr std::uint64_t file_block() const { return high >> 9 & ((std::uint64_t{1} << 54) - 1); }
  constexpr std::uint64_t device_block() const { return (high & 0x1ff) << 43 | low >> 21; }
  constexpr std::uint64_t blocks() const { return low & 0x1fffff; }
};

static_assert(sizeof(extent_record) == 16);
static_assert(extent_record{{{0x80, 0, 0, 0, 0, 0, 2, 1}}, {{0, 0, 0, 0, 0, 0x20, 0, 3}}}
                  .device_block() == (std::uint64_t{1} << 43 | 1));

}  // namespace gnstor::host::files::xfs
