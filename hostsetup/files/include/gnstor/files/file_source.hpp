#pragma once

#include <gnstor/files/block_source.hpp>

namespace gnstor::host::files {

/// A file or a block device of this machine as a `block_source`, opened for reading alone.
///
/// A block device is read past the page cache (O_DIRECT): what the kernel keeps there of a device
/// may be older than what a file system has written to it.
class file_source final : public block_source {
 public:
  /// Throws `input_error` that names the path and what the system said.
  explicit file_source(std::string path);
  ~file_source() override;

  std::string name() const override { return path_; }
  std::uint64_t bytes() const override { return bytes_; }
  void read(std::uint64_t offset, std::span<std::byte> to) override;

 private:
  void read_file(std::uint64_t offset, std::span<std::byte> to) const;

  std::string path_;
  int file_ = -1;
  std::uint64_t bytes_ = 0;
  std::uint32_t alignment_ = 1;  ///< of offsets, lengths and memory, in bytes
};

}  // namespace gnstor::host::files
