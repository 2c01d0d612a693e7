/// The structures on the disk against xfsprogs' own headers, where they are here: Debian's package
/// xfslibs-dev.
#include "files/ondisk/directory_block.hpp"
#include "files/ondisk/extent_record.hpp"
#include "files/ondisk/group_inodes.hpp"
#include "files/ondisk/inode_chunk.hpp"
#include "files/ondisk/inode_core.hpp"
#include "files/ondisk/log_record.hpp"
#include "files/ondisk/superblock.hpp"
#include "files/ondisk/symlink_block.hpp"
#include "files/ondisk/tree_block.hpp"

#include <doctest/doctest.h>

#if __has_include(<xfs/xfs_format.h>)
namespace {

// Inline functions of these headers name what only xfsprogs itself has.
template <class T>
constexpr T be16_to_cpu(T x) {
  return x;
}
template <class T>
constexpr T be32_to_cpu(T x) {
  return x;
}
template <class T>
constexpr T cpu_to_be16(T x) {
  return x;
}
template <class T>
constexpr T cpu_to_be32(T x) {
  return x;
}
template <class T>
constexpr T cpu_to_be64(T x) {
  return x;
}
inline int get_unaligned_be16(const void*) { return 0; }
inline void put_unaligned_be16(int, void*) {}
template <class T, class U>
constexpr T round_up(T x, U) {
  return x;
}

}  // namespace
#define ASSERT(x)
#include <xfs/xfs.h>
#include <xfs/xfs_types.h>
//
#include <xfs/xfs_format.h>
//
#include <xfs/xfs_da_format.h>
#include <xfs/xfs_log_format.h>

namespace xfs = gnstor::host::files::xfs;

/// Whether a field lies where xfsprogs has it.
#define GNSTOR_SAME(ours, field, theirs, its)                                           \
  CHECK_MESSAGE(offsetof(xfs::ours, field) == offsetof(theirs, its), #theirs "." #its); \
  CHECK_MESSAGE(sizeof(xfs::ours::field) == sizeof(theirs::its), #theirs "." #its)

TEST_CASE("superblocks and headers of groups are xfsprogs'") {
  CHECK(sizeof(xfs::superblock) == sizeof(xfs_dsb));
  GNSTOR_SAME(superblock, data_blocks, xfs_dsb, sb_dblocks);
  GNSTOR_SAME(superblock, realtime_blocks, xfs_dsb, sb_rblocks);
  GNSTOR_SAME(superblock, id, xfs_dsb, sb_uuid);
  GNSTOR_SAME(superblock, log_start, xfs_dsb, sb_logstart);
  GNSTOR_SAME(superblock, root_inode, xfs_dsb, sb_rootino);
  GNSTOR_SAME(superblock, group_blocks, xfs_dsb, sb_agblocks);
  GNSTOR_SAME(superblock, groups, xfs_dsb, sb_agcount);
  GNSTOR_SAME(superblock, log_blocks, xfs_dsb, sb_logblocks);
  GNSTOR_SAME(superblock, version, xfs_dsb, sb_versionnum);
  GNSTOR_SAME(superblock, inodes_per_block, xfs_dsb, sb_inopblock);
  GNSTOR_SAME(superblock, block_log, xfs_dsb, sb_blocklog);
  GNSTOR_SAME(superblock, sector_log, xfs_dsb, sb_sectlog);
  GNSTOR_SAME(superblock, inode_log, xfs_dsb, sb_inodelog);
  GNSTOR_SAME(superblock, inodes_per_block_log, xfs_dsb, sb_inopblog);
  GNSTOR_SAME(superblock, group_blocks_log, xfs_dsb, sb_agblklog);
  GNSTOR_SAME(superblock, in_progress, xfs_dsb, sb_inprogress);
  GNSTOR_SAME(superblock, directory_block_log, xfs_dsb, sb_dirblklog);
  GNSTOR_SAME(superblock, features2, xfs_dsb, sb_features2);
  GNSTOR_SAME(superblock, bad_features2, xfs_dsb, sb_bad_features2);
  GNSTOR_SAME(superblock, incompatible, xfs_dsb, sb_features_incompat);
  GNSTOR_SAME(superblock, crc, xfs_dsb, sb_crc);
  GNSTOR_SAME(superblock, metadata_id, xfs_dsb, sb_meta_uuid);
  CHECK(xfs::superblock_magic == XFS_SB_MAGIC);
  CHECK(xfs::features2_known == XFS_SB_VERSION2_OKBITS);
  CHECK((XFS_SB_FEAT_INCOMPAT_ALL & ~xfs::incompatible_known) == 0);
  CHECK(xfs::incompatible_needs_repair == XFS_SB_FEAT_INCOMPAT_NEEDSREPAIR);
  CHECK(sizeof(xfs::group_inodes) == sizeof(xfs_agi));
  GNSTOR_SAME(group_inodes, root, xfs_agi, agi_root);
  GNSTOR_SAME(group_inodes, levels, xfs_agi, agi_level);
  GNSTOR_SAME(group_inodes, id, xfs_agi, agi_uuid);
  GNSTOR_SAME(group_inodes, crc, xfs_agi, agi_crc);
  CHECK(xfs::group_inodes_magic == XFS_AGI_MAGIC);
}

TEST_CASE("inodes, their chunks and extents are xfsprogs'") {
  CHECK(sizeof(xfs::inode_core) == sizeof(xfs_dinode));
  GNSTOR_SAME(inode_core, mode, xfs_dinode, di_mode);
  GNSTOR_SAME(inode_core, format, xfs_dinode, di_format);
  GNSTOR_SAME(inode_core, links, xfs_dinode, di_nlink);
  GNSTOR_SAME(inode_core, large_extents, xfs_dinode, di_big_nextents);
  GNSTOR_SAME(inode_core, modified, xfs_dinode, di_mtime);
  GNSTOR_SAME(inode_core, bytes, xfs_dinode, di_size);
  GNSTOR_SAME(inode_core, extents, xfs_dinode, di_nextents);
  GNSTOR_SAME(inode_core, attribute_offset, xfs_dinode, di_forkoff);
  GNSTOR_SAME(inode_core, flags, xfs_dinode, di_flags);
  GNSTOR_SAME(inode_core, generation, xfs_dinode, di_gen);
  GNSTOR_SAME(inode_core, crc, xfs_dinode, di_crc);
  GNSTOR_SAME(inode_core, flags2, xfs_dinode, di_flags2);
  GNSTOR_SAME(inode_core, created, xfs_dinode, di_crtime);
  GNSTOR_SAME(inode_core, number, xfs_dinode, di_ino);
  GNSTOR_SAME(inode_core, id, xfs_dinode, di_uuid);
  CHECK(xfs::flag2_big_time == XFS_DIFLAG2_BIGTIME);
  CHECK(xfs::flag2_large_counters == XFS_DIFLAG2_NREXT64);
  CHECK(sizeof(xfs::inode_chunk) == sizeof(xfs_inobt_rec));
  GNSTOR_SAME(inode_chunk, holes, xfs_inobt_rec, ir_u.sp.ir_holemask);
  GNSTOR_SAME(inode_chunk, free_mask, xfs_inobt_rec, ir_free);
  CHECK(sizeof(xfs::extent_record) == sizeof(xfs_bmbt_rec));
  CHECK(xfs::inode_tree_magic4 == XFS_IBT_MAGIC);
  CHECK(xfs::inode_tree_magic5 == XFS_IBT_CRC_MAGIC);
  CHECK(xfs::extent_tree_magic4 == XFS_BMAP_MAGIC);
  CHECK(xfs::extent_tree_magic5 == XFS_BMAP_CRC_MAGIC);
  CHECK(sizeof(xfs::tree_root) == sizeof(xfs_bmdr_block));
  CHECK(sizeof(xfs::long_tree_block) == XFS_BTREE_LBLOCK_CRC_LEN);
  CHECK(sizeof(xfs::short_tree_block) == XFS_BTREE_SBLOCK_CRC_LEN);
  CHECK(offsetof(xfs::long_tree_block, crc) == XFS_BTREE_LBLOCK_CRC_OFF);
  CHECK(offsetof(xfs::short_tree_block, crc) == XFS_BTREE_SBLOCK_CRC_OFF);
}

TEST_CASE("directories, links and the log are xfsprogs'") {
  CHECK(sizeof(xfs::directory_block4) == sizeof(xfs_dir2_data_hdr));
  CHECK(sizeof(xfs::directory_block5) == sizeof(xfs_dir3_data_hdr));
  GNSTOR_SAME(directory_block5, crc, xfs_dir3_data_hdr, hdr.crc);
  GNSTOR_SAME(directory_block5, sector, xfs_dir3_data_hdr, hdr.blkno);
  GNSTOR_SAME(directory_block5, id, xfs_dir3_data_hdr, hdr.uuid);
  GNSTOR_SAME(directory_block5, owner, xfs_dir3_data_hdr, hdr.owner);
  CHECK(sizeof(xfs::directory_tail) == sizeof(xfs_dir2_block_tail));
  CHECK(xfs::only_block_magic5 == XFS_DIR3_BLOCK_MAGIC);
  CHECK(xfs::data_block_magic5 == XFS_DIR3_DATA_MAGIC);
  CHECK(xfs::only_block_magic4 == XFS_DIR2_BLOCK_MAGIC);
  CHECK(xfs::data_block_magic4 == XFS_DIR2_DATA_MAGIC);
  CHECK(xfs::directory_index_offset == XFS_DIR2_LEAF_OFFSET);
  CHECK(sizeof(xfs::symlink_block) == sizeof(xfs_dsymlink_hdr));
  GNSTOR_SAME(symlink_block, bytes, xfs_dsymlink_hdr, sl_bytes);
  GNSTOR_SAME(symlink_block, crc, xfs_dsymlink_hdr, sl_crc);
  GNSTOR_SAME(symlink_block, owner, xfs_dsymlink_hdr, sl_owner);
  CHECK(xfs::symlink_magic == XFS_SYMLINK_MAGIC);
  CHECK(sizeof(xfs::log_record) == sizeof(xlog_rec_header));
  GNSTOR_SAME(log_record, tail, xlog_rec_header, h_tail_lsn);
  GNSTOR_SAME(log_record, crc, xlog_rec_header, h_crc);
  GNSTOR_SAME(log_record, words, xlog_rec_header, h_cycle_data);
  GNSTOR_SAME(log_record, byte_order, xlog_rec_header, h_fmt);
  GNSTOR_SAME(log_record, buffer_bytes, xlog_rec_header, h_size);
  CHECK(sizeof(xfs::log_record_more) == sizeof(xlog_rec_ext_header));
  CHECK(sizeof(xfs::log_operation) == sizeof(xlog_op_header));
  CHECK(xfs::buffer_item == XFS_LI_BUF);
}
#else
TEST_CASE("structures on the disk are xfsprogs'" * doctest::skip()) {}
#endif
