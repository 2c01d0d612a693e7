#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

namespace gnstor::host {

/// Puts a file's name, new or gone, on the disk. Where that fails, so will what is written to the
/// file first.
inline void keep_name(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const int parent =
      open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0) return;
  (void)fsync(parent);
  close(parent);
}

}  // namespace gnstor::host
