#pragma once

#include "mapping_guard.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace gnstor::host {

/// One SSD's flash as a file, mapped shared and locked against a second process.
///
/// All its room on the disk is taken at once. A file that fails nevertheless is lost for good, and
/// says so: the kernel reports an error once, and forgets what it could not write.
class flash_file {
 public:
  /// Opens or creates `path` with `bytes`. Throws `error` if it cannot, if another process holds
  /// it, if a file there has another size, or if the disk has no room for it.
  flash_file(const std::string& path, std::size_t bytes);
  flash_file(const flash_file&) = delete;
  flash_file& operator=(const flash_file&) = delete;
  ~flash_file();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// Writes what was stored to the disk. False if the file is lost, by this or before. Any thread
  /// may call it.
  bool sync() noexcept;
  /// The file is lost, for that `errno`.
  void lose(int error) { guard_->fail(error); }
  /// Why the file is lost, as an `errno`; 0: it is not. What its memory holds may be of any time
  /// then. Any thread.
  int error() const { return guard_->error(); }
  /// As `mapping_guard::tell`.
  void tell(std::uint32_t* word, std::uint32_t value, sem_t* bell) {
    guard_->tell(word, value, bell);
  }
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
  std::unique_ptr<mapping_guard> guard_;
};

}  // namespace gnstor::host
