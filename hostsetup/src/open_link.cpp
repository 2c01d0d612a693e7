#include "open_link.hpp"

#include "client_identity.hpp"
#include "emulated_client.hpp"
#if defined(GNSTOR_WITH_RDMA)
#include "fabrics_link.hpp"
#endif
#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::host {

std::unique_ptr<array_link> open_link(const endpoint& where, const session_options& options) {
  if (options.priority == wire::nvme::queue_class::admin) {
    throw input_error("session_options::priority: use urgent, high, medium or low");
  }
  if (!mlx5_valid_depth(options.depth) || options.depth > 1024) {
    throw input_error(
        fmt::format("channel depth {}: use a power of two from 2 to 1024", options.depth));
  }
  if (options.channels > 64)
    throw input_error(fmt::format("{} channels: use 0 to 64", options.channels));
  if (where.rdma) {
#if defined(GNSTOR_WITH_RDMA)
    return std::make_unique<fabrics_link>(*where.rdma, options);
#else
    throw error(
        "this build of gnstor has no RDMA: install libibverbs-dev and librdmacm-dev, then "
        "configure "
        "it again");
#endif
  }
  const std::uint32_t depth = std::max(options.depth, 128u);
  auto array = std::make_shared<emulated_array>(where, options.client, options.device,
                                                options.channels + 2, depth);
  try {
    return std::make_unique<emulated_client>(array, options,
                                             client_identity::named(options.host_name));
  } catch (...) {
    array->remove_new_files();
    throw;
  }
}

}  // namespace gnstor::host
