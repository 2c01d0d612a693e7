#pragma once

#include <gnstor/host/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace support {

/// A regular file, read in pieces. Move-only.
class input_file {
 public:
  /// Throws `host::input_error` if the file is missing, unreadable, or no regular file.
  explicit input_file(std::string path) : path_(std::move(path)) {
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) {
      fail(std::string("cannot open: ") + std::strerror(errno) +
           "; check the path and its permissions");
    }
    struct stat info {};
    const bool regular = ::fstat(descriptor_, &info) == 0 && S_ISREG(info.st_mode);
    if (regular) {
      bytes_ = static_cast<std::uint64_t>(info.st_size);
      return;
    }
    ::close(descriptor_);
    fail("is not a regular file; give the path of a file");
  }
  input_file(input_file&& other) noexcept
      : path_(std::move(other.path_)),
        descriptor_(std::exchange(other.descriptor_, -1)),
        bytes_(other.bytes_) {}
  input_file& operator=(input_file&&) = delete;
  ~input_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return bytes_; }

  /// Reads exactly `count` bytes from `offset` on. Throws `host::input_error`.
  void read(char* to, std::uint64_t offset, std::uint64_t count) const {
    for (std::uint64_t done = 0; done < count;) {
      const ssize_t n =
          ::pread(descriptor_, to + done, count - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail(std::string("cannot read: ") + std::strerror(errno));
      if (n == 0) {
        fail("ends at byte " + std::to_string(offset + done) + " of " + std::to_string(bytes_) +
             ": it became shorter; leave it alone while it is read");
      }
      done += static_cast<std::uint64_t>(n);
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw gnstor::host::input_error(path_ + ": " + what);
  }

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
};

}  // namespace support
