#include <gnstor/files/file_kind.hpp>

namespace gnstor::host::files {

const char* to_string(file_kind kind) {
  switch (kind) {
    case file_kind::unknown: return "file of an unknown kind";
    case file_kind::regular: return "regular file";
    case file_kind::directory: return "directory";
    case file_kind::symlink: return "symbolic link";
    case file_kind::character_device: return "character device";
    case file_kind::block_device: return "block device";
    case file_kind::fifo: return "fifo";
    case file_kind::socket: return "socket";
  }
  return "file of an unknown kind";
}

}  // namespace gnstor::host::files
