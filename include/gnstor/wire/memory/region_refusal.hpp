#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::memory {

/// Why a memory server refuses a connection, where NVMe's targets put their reason: in the second
/// half of the first dword of the reject's private data. Above all of those.
enum class region_refusal : std::uint16_t {
  malformed_request = 0x4701,  ///< no `region_request` of this version
  no_such_region = 0x4702,     ///< it exports none of that name, or has withdrawn it
};

}  // namespace gnstor::wire::memory
