#include "open_emulated.hpp"

#include "emulated_client.hpp"
#include <link/client_identity.hpp>

#include <algorithm>

namespace gnstor::host {

std::unique_ptr<array_link> open_emulated(const endpoint& where, const session_options& options) {
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
