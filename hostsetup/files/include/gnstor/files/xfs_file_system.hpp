#pragma once

#include <gnstor/files/block_source.hpp>
#include <gnstor/files/directory_entry.hpp>
#include <gnstor/files/file_extent.hpp>
#include <gnstor/files/file_status.hpp>

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace gnstor::host::files {

/// An XFS that nobody changes meanwhile, because it is not mounted or is frozen, read from its
/// bytes: names, what is known of files, and where their data lies, so that NVMe commands read it.
/// Versions 4 and 5 of the format, with "XFS Algorithms & Data Structures" as the source.
///
/// Reads only. No number on the disk is believed: what leads out of the device, into a circle or
/// to a structure with another checksum, address or owner ends in an `error` that names the
/// structure, its byte on the device, and what is wrong. One thread at a time.
class xfs_file_system {
 public:
  /// Reads the superblock and looks at the log. The source outlives this.
  /// @par Errors `input_error` with the remedy: no XFS, a realtime or an external log device,
  /// features that this reader does not know, xfs_repair needed, a log that has to be replayed, a
  /// device that ends before the file system; `error`: a damaged superblock or log.
  explicit xfs_file_system(block_source& source);
  xfs_file_system(xfs_file_system&&) noexcept;
  xfs_file_system& operator=(xfs_file_system&&) noexcept;
  ~xfs_file_system();

  /// The directory "/".
  inode_number root() const;
  /// Bytes of a block: device offsets of extents are multiples of it.
  std::uint32_t block_bytes() const;

  /// The file of this path, from the root on; a leading '/' and repeated ones do not matter.
  /// Symbolic links are not followed. Throws `input_error` that names the part that is not there.
  inode_number find(std::string_view path) const;
  file_status status(inode_number inode) const;
  /// The names in a directory, "." and ".." aside, in the order of the disk.
  std::vector<directory_entry> list(inode_number directory) const;
  /// Where a regular file lies: its bytes from 0 to its length without a gap, holes included;
  /// neighbours of one state that adjoin on the device as one. The last extent ends with the file,
  /// and its block on the device goes on behind that.
  std::vector<file_extent> extents(inode_number file) const;
  std::string symlink_target(inode_number symlink) const;

  /// What `walk` tells of a file: its path from the directory on, without a leading '/'.
  using visitor = std::function<void(const std::string& path, const file_status& status)>;
  /// Visits every file below a directory, each directory before what is in it.
  void walk(inode_number directory, const visitor& visit) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace gnstor::host::files
