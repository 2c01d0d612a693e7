#pragma once

#include "files/ondisk/big_endian.hpp"
#include <gnstor/files/block_source.hpp>
#include <gnstor/files/inode_number.hpp>

#include <optional>

namespace gnstor::host::files {

/// Where an inode lies.
struct inode_place {
  std::uint32_t group = 0;
  std::uint32_t number = 0;    ///< within the group
  std::uint64_t block = 0;     ///< byte of its block on the device
  std::uint32_t in_block = 0;  ///< its byte in there
};

/// A file system's shape, as its superblock tells it, once that is found to be possible.
struct geometry {
  bool version5 = false;
  bool file_types = false;  ///< names in directories carry them
  bool sparse_inodes = false;
  std::uint32_t sector_bytes = 0;
  std::uint32_t block_log = 0;
  std::uint32_t group_blocks = 0;
  std::uint32_t group_blocks_log = 0;
  std::uint32_t groups = 0;
  std::uint64_t blocks = 0;
  std::uint32_t inode_bytes = 0;
  std::uint32_t inodes_per_block_log = 0;
  std::uint32_t directory_block_log = 0;  ///< of bytes
  inode_number root{};
  xfs::uuid id{};  ///< what each structure of version 5 carries
  std::uint64_t log_block = 0;
  std::uint32_t log_blocks = 0;

  std::uint32_t block_bytes() const { return 1u << block_log; }
  std::uint32_t directory_block_bytes() const { return 1u << directory_block_log; }
  /// Blocks of a group.
  std::uint32_t blocks_of(std::uint32_t group) const;
  /// The byte on the device where `count` (1 on) blocks from this file system block on lie; none if
  /// they leave their group, or are its headers or the log.
  std::optional<std::uint64_t> place(std::uint64_t block, std::uint64_t count = 1) const;
  /// The same for a block of a group.
  std::optional<std::uint64_t> place_in(std::uint32_t group, std::uint32_t block) const;
  std::optional<inode_place> place(inode_number inode) const;
  /// The byte where the log begins.
  std::uint64_t log_offset() const;
  /// The byte of a group's sector: 0 superblock, 1 and 3 free space, 2 inodes.
  std::uint64_t sector_of(std::uint32_t group, std::uint32_t sector) const;
};

/// Reads and checks the superblock; xfs_file_system says what is refused.
geometry read_geometry(block_source& source);

}  // namespace gnstor::host::files
