#pragma once

#include <gnstor/host/session.hpp>
#include <link/array_link.hpp>

#include <memory>

namespace gnstor::host {

/// Checks what any session is set up by. Throws `input_error`.
void check_connecting(const session_options& options);

/// Connects to what an endpoint names, for a session. Throws what `session`'s constructor throws.
std::unique_ptr<array_link> open_link(const endpoint& where, const session_options& options);

}  // namespace gnstor::host
