#include "open_memory.hpp"

#include <emulated/open_emulated.hpp>
#include <gnstor/host/error.hpp>

#include <fmt/format.h>

namespace gnstor::host {

std::unique_ptr<memory_link> open_memory(const memory_endpoint& where,
                                         const remote_memory_options& options) {
  if (!mlx5_valid_depth(options.depth) || options.depth > 1024) {
    throw input_error(
        fmt::format("channel depth {}: use a power of two from 2 to 1024", options.depth));
  }
  if (options.channels == 0 || options.channels > 64)
    throw input_error(fmt::format("{} channels: use 1 to 64", options.channels));
  if (where.emulated()) return open_emulated_memory(where, options);
  throw error("this build of gnstor does not open memory:// endpoints");
}

}  // namespace gnstor::host
