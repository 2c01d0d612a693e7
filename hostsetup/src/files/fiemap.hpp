#pragma once

#include <gnstor/files/file_extent.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace gnstor::host::files {

/// Where an open file lies, as Linux says it (FIEMAP), with what was written brought to the device
/// before. From byte 0 to `bytes` without a gap; offsets from `device_start` on. Throws
/// `input_error` that names `path` for what is not on the device as it is in the file.
std::vector<file_extent> fiemap(int file, const std::string& path, std::uint64_t bytes,
                                std::uint64_t device_start);

}  // namespace gnstor::host::files
