#pragma once

#include <gnstor/host/error.hpp>

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

namespace gnstor::host::files {

/// What of a file says that it has changed.
struct file_identity {
  std::uint64_t device = 0, inode = 0, bytes = 0;
  std::int64_t modified_s = 0, modified_ns = 0, changed_s = 0, changed_ns = 0;

  /// Of an open file. Throws `error` that names `path`.
  static file_identity of(int file, const std::string& path) {
    struct stat s {};
    if (::fstat(file, &s) != 0) throw error(fmt::format("{}: {}", path, std::strerror(errno)));
    return {s.st_dev,         s.st_ino,          static_cast<std::uint64_t>(s.st_size),
            s.st_mtim.tv_sec, s.st_mtim.tv_nsec, s.st_ctim.tv_sec,
            s.st_ctim.tv_nsec};
  }
  bool operator==(const file_identity&) const = default;
};

}  // namespace gnstor::host::files
