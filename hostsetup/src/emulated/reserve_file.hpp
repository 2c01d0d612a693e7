#pragma once

#include <fcntl.h>

#include <cerrno>
#include <cstddef>

namespace gnstor::host {

/// Makes a file `bytes` long, with room on its disk for all of them; what it holds stays. False,
/// and `errno`, if it cannot.
inline bool reserve_file(int file, std::size_t bytes) {
  const auto length = static_cast<off_t>(bytes);
  for (int tries = 0; tries < 16; ++tries) {
    if (fallocate(file, 0, 0, length) == 0) return true;
    if (errno != EINTR) break;
  }
  if (errno != EOPNOTSUPP) return false;
  // Where the file system cannot, the C library writes to each of its blocks.
  errno = posix_fallocate(file, 0, length);
  return errno == 0;
}

}  // namespace gnstor::host
