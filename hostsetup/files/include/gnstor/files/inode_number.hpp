#pragma once

#include <cstdint>

namespace gnstor::host::files {

/// A file's number in its file system, as `ls -i` prints it.
enum class inode_number : std::uint64_t {};

constexpr std::uint64_t value(inode_number inode) { return static_cast<std::uint64_t>(inode); }

}  // namespace gnstor::host::files
