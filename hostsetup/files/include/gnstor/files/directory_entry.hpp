#pragma once

#include <gnstor/files/file_kind.hpp>
#include <gnstor/files/inode_number.hpp>

#include <string>

namespace gnstor::host::files {

/// A name in a directory. The bytes are as on the disk: UTF-8 where who wrote them used it.
struct directory_entry {
  std::string name;
  inode_number inode{};
  file_kind kind = file_kind::unknown;

  friend bool operator==(const directory_entry&, const directory_entry&) = default;
};

}  // namespace gnstor::host::files
