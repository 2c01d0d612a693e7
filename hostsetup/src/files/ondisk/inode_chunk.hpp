#pragma once

#include "files/ondisk/big_endian.hpp"

namespace gnstor::host::files::xfs {

/// Which of 64 inodes in a row there are, and which are free: a leaf's record of a group's tree of
/// inodes. XFS Algorithms & Data Structures, "Inode B+trees" and "Sparse Inodes".
struct inode_chunk {
  big32 first;  ///< inode number within the group
  big16 holes;  ///< with sparse inodes: a bit per 4 that have no blocks
  std::uint8_t count;
  std::uint8_t free_count;
  big64 free_mask;  ///< a bit per inode; those of a hole are set
};
inline constexpr std::uint32_t inodes_per_chunk = 64;
inline constexpr std::uint32_t inodes_per_hole_bit = 4;

static_assert(sizeof(inode_chunk) == 16 && offsetof(inode_chunk, free_mask) == 8);

}  // namespace gnstor::host::files::xfs
