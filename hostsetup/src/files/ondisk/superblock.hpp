#pragma once

#include "files/ondisk/big_endian.hpp"

namespace gnstor::host::files::xfs {

/// The first sector of a file system: its shape and features. XFS Algorithms & Data Structures,
/// "Superblocks".
struct superblock {
  big32 magic;
  big32 block_bytes;
  big64 data_blocks;
  big64 realtime_blocks;
  big64 realtime_extents;
  uuid id;
  big64 log_start;  ///< a file system block; 0: the log is on another device
  big64 root_inode;
  big64 realtime_bitmap_inode;
  big64 realtime_summary_inode;
  big32 realtime_extent_blocks;
  big32 group_blocks;  ///< of an allocation group; the last one may be shorter
  big32 groups;
  big32 realtime_bitmap_blocks;
  big32 log_blocks;
  big16 version;
  big16 sector_bytes;
  big16 inode_bytes;
  big16 inodes_per_block;
  char label[12];
  std::uint8_t block_log;
  std::uint8_t sector_log;
  std::uint8_t inode_log;
  std::uint8_t inodes_per_block_log;
  std::uint8_t group_blocks_log;  ///< rounded up
  std::uint8_t realtime_extents_log;
  std::uint8_t in_progress;  ///< mkfs has not ended
  std::uint8_t inode_percent;
  big64 counters[4];
  big64 quota_inodes[2];
  big16 quota_flags;
  std::uint8_t flags;
  std::uint8_t shared_version;
  big32 inode_alignment;
  big32 stripe_unit;
  big32 stripe_width;
  std::uint8_t directory_block_log;  ///< of file system blocks in a directory's
  std::uint8_t log_sector_log;
  big16 log_sector_bytes;
  big32 log_stripe_bytes;
  big32 features2;
  big32 bad_features2;  ///< where some old kernels wrote features2
  // Version 5 from here on.
  big32 compatible;
  big32 read_only_compatible;
  big32 incompatible;
  big32 log_incompatible;
  little32 crc;
  big32 sparse_inode_alignment;
  big64 project_quota_inode;
  big64 sequence;
  uuid metadata_id;  ///< what structures carry where `incompatible` says so
};
inline constexpr std::uint32_t superblock_magic = 0x58465342;  ///< "XFSB"

inline constexpr std::uint16_t version_number_mask = 0x000f;
inline constexpr std::uint16_t version_shared = 0x0200;
inline constexpr std::uint16_t version_directory2 = 0x2000;
inline constexpr std::uint16_t version_more_bits = 0x8000;  ///< features2 counts

/// Of features2: lazy counters, attr2, 32-bit project ids, file types in directories.
inline constexpr std::uint32_t features2_file_types = 0x200;
inline constexpr std::uint32_t features2_known = 0x2 | 0x8 | 0x80 | features2_file_types;

inline constexpr std::uint32_t incompatible_file_types = 1 << 0;
inline constexpr std::uint32_t incompatible_sparse_inodes = 1 << 1;
inline constexpr std::uint32_t incompatible_metadata_id = 1 << 2;
inline constexpr std::uint32_t incompatible_big_time = 1 << 3;
inline constexpr std::uint32_t incompatible_needs_repair = 1 << 4;
inline constexpr std::uint32_t incompatible_large_counters = 1 << 5;
/// Log items of exchanged ranges, and parents in attributes: nothing that is read here.
inline constexpr std::uint32_t incompatible_exchange_range = 1 << 6;
inline constexpr std::uint32_t incompatible_parents = 1 << 7;
inline constexpr std::uint32_t incompatible_known = 0xff;

static_assert(sizeof(superblock) == 264);
static_assert(offsetof(superblock, log_start) == 48 && offsetof(superblock, group_blocks) == 84);
static_assert(offsetof(superblock, version) == 100 && offsetof(superblock, block_log) == 120);
static_assert(offsetof(superblock, directory_block_log) == 192);
static_assert(offsetof(superblock, features2) == 200 && offsetof(superblock, crc) == 224);
static_assert(offsetof(superblock, metadata_id) == 248);

}  // namespace gnstor::host::files::xfs
