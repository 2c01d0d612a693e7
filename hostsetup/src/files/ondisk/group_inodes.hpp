#pragma once

#include "files/ondisk/big_endian.hpp"

namespace gnstor::host::files::xfs {

/// The third sector of an allocation group: its inodes, and the root of the tree that has them. XFS
/// Algorithms & Data Structures, "AG Inode Management".
struct group_inodes {
  big32 magic;
  big32 version;
  big32 group;
  big32 group_blocks;
  big32 inodes;
  big32 root;    ///< a block of the group
  big32 levels;  ///< 1: the root is a leaf
  big32 free_inodes;
  big32 newest;
  big32 directory;
  big32 unlinked[64];
  // Version 5 from here on.
  uuid id;
  little32 crc;
  big32 pad;
  big64 sequence;
  big32 free_root;
  big32 free_levels;
  big32 tree_blocks[2];
};
inline constexpr std::uint32_t group_inodes_magic = 0x58414749;  ///< "XAGI"

static_assert(sizeof(group_inodes) == 344 && offsetof(group_inodes, root) == 20);
static_assert(offsetof(group_inodes, id) == 296 && offsetof(group_inodes, crc) == 312);

}  // namespace gnstor::host::files::xfs
