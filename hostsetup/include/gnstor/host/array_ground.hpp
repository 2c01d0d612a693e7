#pragma once

#include <gnstor/host/memory_block.hpp>

#include <cstdint>
#include <string>

namespace gnstor::host {
class remote_memory;
class session;
}  // namespace gnstor::host

namespace gnstor::detail {

/// What an array lies on, as far as its memory depends on it.
struct array_ground {
  std::string name;    ///< "array on volume 3"
  std::string remedy;  ///< of one that is too small: "create a volume of at least"
  std::uint64_t bytes = 0;
  std::uint32_t least_page = 0;           ///< bytes
  std::uint32_t usual_page = 64 * 1024;   ///< bytes, where `array_options` do not say
  host::place where = host::place::host;  ///< of frames and words
  bool hashed = false;                    ///< words of those pages alone that lie in frames
  int device = 0;
  host::session* session = nullptr;       ///< that registers the frames, if any has to
  host::remote_memory* memory = nullptr;  ///< that does, in place of a session
};

}  // namespace gnstor::detail
