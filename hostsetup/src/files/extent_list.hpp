#pragma once

#include "files/inode.hpp"
#include <gnstor/files/file_extent.hpp>

#include <vector>

namespace gnstor::host::files {

/// An extent as the file system keeps it, in blocks.
struct block_extent {
  std::uint64_t file_block = 0;
  std::uint64_t device_offset = 0;  ///< byte
  std::uint64_t blocks = 0;
  bool unwritten = false;

  friend bool operator==(const block_extent&, const block_extent&) = default;
};

/// The extents of an inode's data, in the file's order: from its list or its B+tree. Throws `error`
/// if they are damaged: they overlap, leave the device, or are not as many as the inode says.
std::vector<block_extent> read_extents(block_source& source, const geometry& shape,
                                       const inode& file);

/// The same in bytes, for a file of `bytes`: without what is behind its end, with its holes, and
/// with neighbours joined that adjoin.
std::vector<file_extent> in_bytes(const std::vector<block_extent>& extents, std::uint32_t block_log,
                                  std::uint64_t bytes);

}  // namespace gnstor::host::files
