#pragma once
/// Statuses that Fabrics commands add to those of `wire/nvme/status.hpp`.

#include <gnstor/wire/fabrics/connect_status.hpp>
#include <gnstor/wire/nvme/status.hpp>

namespace gnstor::wire::fabrics {

/// The completion's status field for a Fabrics command's own status code.
GNSTOR_HD constexpr std::uint16_t make_status(connect_status code, bool dnr = false) {
  return nvme::make_status(nvme::status_code_type::command_specific,
                           static_cast<std::uint8_t>(code), dnr);
}

}  // namespace gnstor::wire::fabrics
