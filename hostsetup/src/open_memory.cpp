#include "open_memory.hpp"

#include <emulated/open_emulated.hpp>
#if defined(GNSTOR_WITH_RDMA)
#include <remote/verbs_memory.hpp>
#endif
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
#if defined(GNSTOR_WITH_RDMA)
  return std::make_unique<verbs_memory>(where, options);
#else
  throw error(
      "this build of gnstor has no RDMA: install libibverbs-dev, librdmacm-dev and uuid-dev, "
      "then configure it again");
#endif
}

}  // namespace gnstor::host
