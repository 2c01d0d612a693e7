#pragma once

#include <gnstor/host/file_descriptor.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace gnstor::host {

/// A block device or a file, open past the page cache. On tmpfs, which is memory, it may be through
/// it.
///
/// What is written has one writer: a device is taken for this process alone (nobody mounts it
/// meanwhile), a file is locked.
class disk {
 public:
  /// Throws `input_error` for what is no disk, is in use, or has blocks of another size; `error`
  /// where it cannot be opened.
  /// @param read_only nothing is written; a mounted device may be read
  disk(const std::string& path, bool read_only);

  const std::string& path() const { return path_; }
  int file() const { return file_.get(); }
  bool read_only() const { return read_only_; }
  std::uint64_t bytes() const { return bytes_; }
  /// Of a logical block: 512 or 4096.
  std::uint32_t block_bytes() const { return block_bytes_; }
  /// Memory that it reads into and writes from begins at a multiple of this.
  std::uint32_t memory_alignment() const { return memory_alignment_; }
  /// True if reads and writes go past the page cache.
  bool is_direct() const { return direct_; }
  /// True of a device that was pulled out, or whose driver has let it go: Linux says that it has no
  /// bytes any more, and ends reads there as at a file's end, and writes as on a full disk.
  bool is_gone() const;
  /// A flush has failed: nothing is known to be durable any more, whatever a later one says. Any
  /// thread.
  void lose() const { lost_->store(true, std::memory_order_release); }
  bool is_lost() const { return lost_->load(std::memory_order_acquire); }

 private:
  void open();
  void lock();
  void measure_device();
  void measure_file(std::uint64_t bytes);

  std::string path_;
  bool read_only_;
  bool direct_ = true;
  bool device_ = false;
  file_descriptor file_;
  std::uint64_t bytes_ = 0;
  std::uint32_t block_bytes_ = 4096;
  std::uint32_t memory_alignment_ = 512;
  std::unique_ptr<std::atomic<bool>> lost_ = std::make_unique<std::atomic<bool>>(false);
};

}  // namespace gnstor::host
