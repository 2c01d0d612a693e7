#pragma once

#include <gnstor/core/status.hpp>
#include <gnstor/wire/nvme/completion_entry.hpp>

namespace gnstor::detail {

/// What a response says of its request: ok, or nvme_error with the status type and code.
GNSTOR_HD inline status response_status(const wire::nvme::completion_entry& response) {
  return status::nvme(static_cast<std::uint8_t>(wire::nvme::status_type(response.status)),
                      static_cast<std::uint8_t>(wire::nvme::status_code(response.status)), 0);
}

}  // namespace gnstor::detail
