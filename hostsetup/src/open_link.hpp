#pragma once

#include <gnstor/host/session.hpp>
#include <link/array_link.hpp>

#include <memory>

namespace gnstor::host {

/// Connects to what an endpoint names, for a session. Throws what `session`'s constructor throws.
std::unique_ptr<array_link> open_link(const endpoint& where, const session_options& options);

}  // namespace gnstor::host
