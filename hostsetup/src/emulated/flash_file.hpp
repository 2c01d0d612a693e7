#pragma once

#include <atomic>
#include <cstddef>
#include <string>

namespace gnstor::host {

/// One SSD's flash as a file, mapped shared and locked against a second process. All its room on
/// the disk is taken at once: where a disk is full, a store through a mapping ends the process.
/// Move-only owner.
class flash_file {
 public:
  /// Opens or creates `path` with `bytes`. Throws `error` if it cannot, if another process holds
  /// it, if a file there has another size, or if the disk has no room for it.
  flash_file(const std::string& path, std::size_t bytes);
  flash_file(flash_file&& other) noexcept;
  flash_file& operator=(flash_file&&) = delete;
  ~flash_file();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// Writes what was stored to the disk. False if that has ever failed: the kernel says it once,
  /// and the pages may be lost. Any thread may call it.
  bool sync() noexcept;
  /// True if there was no file, or an empty one: it held zeroes.
  bool fresh() const { return fresh_; }
  /// Has the disk be as it was before, if the file is fresh: it is gone, or empty again. Nobody may
  /// use its memory any more.
  void undo() noexcept;

 private:
  std::string path_;
  int descriptor_ = -1;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool fresh_ = false;
  bool created_ = false;
  std::atomic<bool> lost_{false};  ///< what was stored could not be written
};

}  // namespace gnstor::host
