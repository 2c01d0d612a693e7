#pragma once

#include <cstdint>

namespace gnstor::host::files {

/// What a file is. `unknown`: a directory written without file types does not say.
enum class file_kind : std::uint8_t {
  unknown,
  regular,
  directory,
  symlink,
  character_device,
  block_device,
  fifo,
  socket,
};

/// The word for messages: "directory".
const char* to_string(file_kind kind);

}  // namespace gnstor::host::files
