#pragma once

#include <gnstor/host/file_descriptor.hpp>

#include <cstddef>
#include <optional>

namespace gnstor::host {

/// Exports memory of the current GPU as a dma-buf, from a page on; nothing where the driver cannot.
/// @param address a multiple of 4096
std::optional<file_descriptor> export_dma_buf(void* address, std::size_t bytes);

}  // namespace gnstor::host
