#pragma once
/// Where the files of an XFS lie, for those who read them by commands.

#include <gnstor/files/file_layout.hpp>
#include <gnstor/files/xfs_file_system.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gnstor::host::files {

/// Where a regular file of an XFS lies, by its path from the root. Throws as `xfs_file_system`.
file_layout layout_of(const xfs_file_system& files, std::string_view path);

/// All regular files below a folder, in the order of their paths, which are their names.
std::vector<file_layout> layouts_below(const xfs_file_system& files, std::string_view folder);

}  // namespace gnstor::host::files
