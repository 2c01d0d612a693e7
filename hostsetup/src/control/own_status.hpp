#pragma once

#include <gnstor/core/status.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/nvme/status.hpp>

namespace gnstor::host {

/// True if an SSD refused for this reason of GNStor's own.
inline bool is_own(status s, wire::afa::status code) {
  return s.code == status_code::nvme_error &&
         s.nvme_type == static_cast<std::uint8_t>(wire::nvme::status_code_type::vendor_specific) &&
         s.nvme_code == static_cast<std::uint8_t>(code);
}

}  // namespace gnstor::host
