#pragma once

#include <cstdint>
#include <string>

namespace gnstor::host::files {

/// The part of a disk that a file system lies on.
struct disk_part {
  std::string disk;         ///< "nvme0n1"
  std::uint64_t start = 0;  ///< in bytes; 0: it is the whole disk

  /// Of a device number. Throws `input_error` that names `path` where it is no disk of this
  /// machine.
  static disk_part of(std::uint64_t device, const std::string& path);
};

}  // namespace gnstor::host::files
