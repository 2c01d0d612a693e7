#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::memory {

/// Why a memory server refuses a connection, where NVMe's targets put their reason: in the second
/// half of the first dword of the reject's private data. Above all of those.
enum class region_refusal : std::uint16_t {
  malformed_request = 0x4701,  ///< no `region_request` of this version
  no_such_region = 0x4702,     ///< it exports none of that name, or has withdrawn it
  not_admitted = 0x4703,       ///< this host's address is none of those that may
  wrong_secret = 0x4704,       ///< the server has a secret, and the request another or none
};

}  // namespace gnstor::wire::memory
