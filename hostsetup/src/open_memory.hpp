#pragma once

#include <gnstor/host/remote_memory.hpp>
#include <link/memory_link.hpp>

#include <memory>

namespace gnstor::host {

/// Opens the memory that `where` names. Throws what `remote_memory`'s constructor throws.
std::unique_ptr<memory_link> open_memory(const memory_endpoint& where,
                                         const remote_memory_options& options);

}  // namespace gnstor::host
