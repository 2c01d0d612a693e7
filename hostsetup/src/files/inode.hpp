#pragma once

#include "files/inode_index.hpp"
#include "files/ondisk/inode_core.hpp"
#include "files/structure.hpp"
#include <gnstor/files/file_status.hpp>

namespace gnstor::host::files {

/// An inode, found to be one. Of versions before 3, what version 3 added is zero.
struct inode {
  inode_number number{};
  xfs::inode_core core{};
  file_kind kind = file_kind::unknown;
  std::uint64_t extents = 0;
  structure raw;
  std::size_t fork_at = 0;  ///< where its data fork begins in `raw`
  std::size_t fork_bytes = 0;

  file_status status() const;
};

/// Reads inodes. The source and the shape outlive it.
class inode_reader {
 public:
  inode_reader(block_source& source, const geometry& shape)
      : source_(&source), shape_(&shape), index_(source, shape) {}

  /// Throws `error` if there is no such inode, if it is not in use, or damaged.
  inode read(inode_number number);

 private:
  structure raw(inode_number number);

  block_source* source_;
  const geometry* shape_;
  inode_index index_;
  std::optional<structure> block_;  ///< the last one read: it holds several
};

}  // namespace gnstor::host::files
