#pragma once
/// Headers of the blocks of B+trees: within an allocation group (short pointers), and of a file's
/// extents (long pointers). XFS Algorithms & Data Structures, "B+tree blocks".

#include "files/ondisk/big_endian.hpp"

namespace gnstor::host::files::xfs {

/// What both begin with; 0 is the level of leaves.
struct tree_block {
  big32 magic;
  big16 level;
  big16 count;
};

/// Of a tree within a group: version 4 ends before `sector`.
struct short_tree_block {
  tree_block common;
  big32 left;
  big32 right;
  big64 sector;  ///< of this block on the device, in 512 bytes
  big64 sequence;
  uuid id;
  big32 owner;  ///< the group
  little32 crc;
};

/// Of a file's extents: version 4 ends before `sector`.
struct long_tree_block {
  tree_block common;
  big64 left;
  big64 right;
  big64 sector;
  big64 sequence;
  uuid id;
  big64 owner;  ///< the inode
  little32 crc;
  big32 pad;
};

/// The root of a file's extents, in its inode.
struct tree_root {
  big16 level;
  big16 count;
};

inline constexpr std::uint32_t inode_tree_magic4 = 0x49414254;   ///< "IABT"
inline constexpr std::uint32_t inode_tree_magic5 = 0x49414233;   ///< "IAB3"
inline constexpr std::uint32_t extent_tree_magic4 = 0x424d4150;  ///< "BMAP"
inline constexpr std::uint32_t extent_tree_magic5 = 0x424d4133;  ///< "BMA3"

static_assert(sizeof(short_tree_block) == 56 && offsetof(short_tree_block, sector) == 16);
static_assert(offsetof(short_tree_block, owner) == 48 && offsetof(short_tree_block, crc) == 52);
static_assert(sizeof(long_tree_block) == 72 && offsetof(long_tree_block, sector) == 24);
static_assert(offsetof(long_tree_block, owner) == 56 && offsetof(long_tree_block, crc) == 64);
static_assert(sizeof(tree_root) == 4);

}  // namespace gnstor::host::files::xfs
