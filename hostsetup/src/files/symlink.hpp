#pragma once

#include "files/inode.hpp"

#include <string>

namespace gnstor::host::files {

/// The target of a symbolic link. Throws `error` if it is damaged.
std::string read_symlink(block_source& source, const geometry& shape, const inode& link);

}  // namespace gnstor::host::files
