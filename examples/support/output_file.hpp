#pragma once

#include <gnstor/host/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

namespace support {

/// A file that appears under its name only when it is complete.
///
/// Bytes go to "<path>.partial-<process>" beside it; `commit` renames that, and without `commit` it
/// is removed: an error leaves whatever was there before.
class output_file {
 public:
  /// Throws `host::input_error` if the file cannot be written, before any work is done for it.
  explicit output_file(std::string path)
      : path_(std::move(path)), partial_(path_ + ".partial-" + std::to_string(::getpid())) {
    std::error_code ignored;
    const auto there = std::filesystem::status(path_, ignored);
    if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
      fail("is there and is not a regular file", 0);
    }
    descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail("cannot be written", errno);
  }
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(partial_.c_str());
  }

  const std::string& path() const { return path_; }

  /// Appends. Throws `host::input_error`.
  void write(const char* from, std::uint64_t count) {
    for (std::uint64_t done = 0; done < count;) {
      const ssize_t n = ::write(descriptor_, from + done, count - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("cannot be written", errno);
      done += static_cast<std::uint64_t>(n);
    }
  }

  /// Gives the complete file its name. Throws `host::input_error`.
  void commit() {
    if (::fsync(descriptor_) != 0 && errno != EINVAL) fail("cannot be written", errno);
    if (std::rename(partial_.c_str(), path_.c_str()) != 0) fail("cannot be replaced", errno);
    ::close(std::exchange(descriptor_, -1));
  }

 private:
  [[noreturn]] void fail(const std::string& what, int why) const {
    const std::string reason = why == 0 ? "" : std::string(": ") + std::strerror(why);
    throw gnstor::host::input_error(path_ + ": " + what + reason +
                                    "; give a file in a folder that you may write to");
  }

  std::string path_;
  std::string partial_;
  int descriptor_ = -1;
};

}  // namespace support
