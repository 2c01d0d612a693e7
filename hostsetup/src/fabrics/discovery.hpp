#pragma once

#include "admin_queue.hpp"
#include "discovered.hpp"

#include <vector>

namespace gnstor::host::fabrics {

/// The subsystems at `way` that this host may use: what the discovery service there lists. Throws
/// as `controller` does.
/// @param host_nqn, host_id as in `controller_options`
std::vector<discovered> discover(transport& way, const std::string& host_nqn = {},
                                 const std::string& host_id = {},
                                 std::chrono::milliseconds timeout = std::chrono::seconds(5));

}  // namespace gnstor::host::fabrics
