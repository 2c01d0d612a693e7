#pragma once

#include <gnstor/files/file_layout.hpp>
#include <gnstor/host/file_descriptor.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace gnstor::host::files {

/// A file of a file system that this machine has mounted, read by others than its kernel: by NVMe
/// commands to the blocks that Linux says it has (FIEMAP).
///
/// While it is leased nobody opens it for writing: who tries waits until this object has said so
/// (`is_stale`, and the word that lanes look at), and goes on then. So no block is read of which
/// the file system has made something else, as far as the reader looks at the word behind each
/// read. A file cannot be leased while somebody has it open for writing, or has it mapped so.
class mounted_file {
 public:
  /// Opens a regular file, has what was written to it brought to its device, and takes the lease.
  ///
  /// Throws `input_error` with the remedy: no such file, none that is regular, a file system that
  /// moves data by itself or does not say where it is (btrfs, f2fs, a network's), data inside an
  /// inode or compressed, somebody who has it open for writing.
  explicit mounted_file(std::string path);
  ~mounted_file();
  /// Copies share the lease, which ends with the last of them.
  mounted_file(const mounted_file&);
  mounted_file& operator=(const mounted_file&);
  mounted_file(mounted_file&&) noexcept;
  mounted_file& operator=(mounted_file&&) noexcept;

  /// Offsets are those of the whole disk, also where the file system lies on a partition of it.
  const file_layout& layout() const;
  /// The disk, "nvme0n1".
  const std::string& disk() const;
  /// Where its file system begins on the disk, in bytes.
  std::uint64_t device_start() const;

  /// True once somebody was to be let in to change it, or it is another file than it was.
  bool is_stale() const;
  /// Reads anew what Linux says of it. Throws `error` if the file is not what it was: nothing that
  /// was read since can be relied upon.
  void check() const;
  /// Has `word` set to 1, atomically, once the file is stale, before anybody may change it; until
  /// what is returned ends. It lies where this CPU and the lanes that look at it reach it.
  [[nodiscard]] std::shared_ptr<void> set_when_stale(std::uint32_t* word) const;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace gnstor::host::files
