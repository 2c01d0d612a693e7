#pragma once

#include "files/ondisk/big_endian.hpp"

namespace gnstor::host::files::xfs {

/// What a part of a symbolic link's target begins with, in version 5. XFS Algorithms & Data
/// Structures, "Symbolic Links".
struct symlink_block {
  big32 magic;
  big32 offset;  ///< in the target
  big32 bytes;
  little32 crc;
  uuid id;
  big64 owner;
  big64 sector;
  big64 sequence;
};
inline constexpr std::uint32_t symlink_magic = 0x58534c4d;  ///< "XSLM"
inline constexpr std::uint64_t symlink_max_bytes = 1024;

static_assert(sizeof(symlink_block) == 56 && offsetof(symlink_block, owner) == 32);

}  // namespace gnstor::host::files::xfs
