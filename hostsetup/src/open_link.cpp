#include "open_link.hpp"

#include <emulated/open_emulated.hpp>
#if defined(GNSTOR_WITH_RDMA)
#include <remote/fabrics_link.hpp>
#endif
#include <gnstor/host/error.hpp>

#include <fmt/format.h>

namespace gnstor::host {

void check_connecting(const session_options& options) {
  if (options.priority == wire::nvme::queue_class::admin) {
    throw input_error("session_options::priority: use urgent, high, medium or low");
  }
  if (!mlx5_valid_depth(options.depth) || options.depth > 1024) {
    throw input_error(
        fmt::format("channel depth {}: use a power of two from 2 to 1024", options.depth));
  }
  if (options.channels > 64)
    throw input_error(fmt::format("{} channels: use 0 to 64", options.channels));
}

std::unique_ptr<array_link> open_link(const endpoint& where, const session_options& options) {
  check_connecting(options);
  if (where.rdma) {
#if defined(GNSTOR_WITH_RDMA)
    return std::make_unique<fabrics_link>(*where.rdma, options);
#else
    throw error(
        "this build of gnstor has no RDMA: install libibverbs-dev, librdmacm-dev and uuid-dev, "
        "then configure it again");
#endif
  }
  return open_emulated(where, options);
}

}  // namespace gnstor::host
