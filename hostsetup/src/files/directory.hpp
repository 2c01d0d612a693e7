#pragma once

#include "files/extent_list.hpp"
#include <gnstor/files/directory_entry.hpp>

namespace gnstor::host::files {

/// The names in a directory, without "." and "..", in the order of the disk. Throws `error` if it
/// is damaged. Reads the blocks of names alone: the index of hashes beside them says nothing else.
std::vector<directory_entry> read_directory(block_source& source, const geometry& shape,
                                            const inode& directory);

}  // namespace gnstor::host::files
