#pragma once

#include <cstdint>
#include <string>

namespace gnstor::serve {

/// A random number that names one target.
///
/// With a folder it lies there in the file `target.id`, made by the first call, so that it stays
/// over restarts. Only one process at a time may call this for a folder. Without one (empty), each
/// call gives another. Throws `error` with the remedy.
std::uint64_t target_id(const std::string& folder);

}  // namespace gnstor::serve
