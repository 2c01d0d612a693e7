#pragma once

#include <gnstor/files/file_extent.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace gnstor::host::files {

/// Where a regular file lies on the device of its file system.
struct file_layout {
  std::string name;                  ///< for messages: its path
  std::uint64_t bytes = 0;           ///< its length
  std::vector<file_extent> extents;  ///< from byte 0 to `bytes` without a gap, in order

  friend bool operator==(const file_layout&, const file_layout&) = default;
};

}  // namespace gnstor::host::files
