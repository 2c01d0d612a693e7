#pragma once

#include <gnstor/files/file_kind.hpp>
#include <gnstor/files/inode_number.hpp>

#include <optional>

namespace gnstor::host::files {

/// A point in time, since the Unix epoch.
struct file_time {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;

  friend bool operator==(const file_time&, const file_time&) = default;
};

/// What a file system says of a file, as stat(2) does.
struct file_status {
  inode_number inode{};
  file_kind kind = file_kind::unknown;
  std::uint16_t permissions = 0;  ///< the low 12 bits of the mode
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::uint32_t links = 0;
  std::uint64_t bytes = 0;       ///< length
  std::uint64_t extents = 0;     ///< mapped ones, those behind its end included
  std::uint32_t generation = 0;  ///< another one when the number is used again
  file_time accessed;
  file_time modified;
  file_time changed;
  std::optional<file_time> created;  ///< XFS version 5 keeps it
};

}  // namespace gnstor::host::files
