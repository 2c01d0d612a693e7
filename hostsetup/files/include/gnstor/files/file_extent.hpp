#pragma once

#include <cstdint>

namespace gnstor::host::files {

/// What stands where an extent says. Only `data` may be read from the device: the blocks of an
/// unwritten extent hold what somebody else left there, and its file reads zeroes.
enum class extent_state : std::uint8_t { data, unwritten, hole };

/// A part of a file and where it lies on its device; all in bytes.
struct file_extent {
  std::uint64_t file_offset = 0;
  std::uint64_t device_offset = 0;  ///< from the start of the file system's device; 0 of a hole
  std::uint64_t bytes = 0;
  extent_state state = extent_state::hole;

  friend bool operator==(const file_extent&, const file_extent&) = default;
};

}  // namespace gnstor::host::files
