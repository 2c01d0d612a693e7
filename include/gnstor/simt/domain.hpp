#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::simt {

/// The device a grid runs on, for the scope check and for the choice of a GPU.
///
/// A word used at device scope must stay in one domain; the host runtime reports one that does not.
enum class domain : std::uint8_t { gpu0, gpu1, nic, cpu };

}  // namespace gnstor::simt
