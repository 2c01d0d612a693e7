#pragma once

#include "load_error.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace graph {

/// A file mapped read-only, so that a loader sees all of it as one range of bytes without a copy.
class file_bytes {
 public:
  /// Throws `load_error` if the file is missing, unreadable, no regular file, or empty.
  explicit file_bytes(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      throw load_error(path, std::string("cannot open: ") + std::strerror(errno),
                       "check the path and its permissions");
    }
    struct stat info {};
    const bool regular = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    const bool holds_bytes = regular && info.st_size > 0;
    if (holds_bytes) {
      bytes_ = static_cast<std::size_t>(info.st_size);
      data_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    const int why = errno;
    ::close(fd);
    if (!regular) throw load_error(path, "is not a regular file", "give the path of a graph file");
    if (!holds_bytes) throw load_error(path, "is empty", "write or download the graph again");
    if (data_ == MAP_FAILED) {
      data_ = nullptr;
      throw load_error(path, std::string("cannot map: ") + std::strerror(why),
                       "copy the file to a local file system");
    }
    ::madvise(data_, bytes_, MADV_SEQUENTIAL);
  }
  file_bytes(file_bytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  file_bytes& operator=(file_bytes&&) = delete;
  ~file_bytes() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }

  std::size_t size() const { return bytes_; }
  std::string_view text() const { return {static_cast<const char*>(data_), bytes_}; }

  /// Copies `count` values of a trivially copyable type from byte `at` on. The caller has checked
  /// that they are there.
  template <class T>
  void read(std::size_t at, T* to, std::size_t count) const {
    if (count != 0) std::memcpy(to, static_cast<const char*>(data_) + at, count * sizeof(T));
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace graph
