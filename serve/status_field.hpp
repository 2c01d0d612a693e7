#pragma once

#include <gnstor/core/status.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <cstdint>

namespace gnstor::serve {

/// What is said for an SSD that does not answer: an internal error that may be repeated.
inline constexpr std::uint16_t silent_ssd =
    wire::nvme::make_status(wire::nvme::generic_status::internal_error);

/// A channel's status as the NVMe status field of a response: an SSD's own words where there are
/// some, else that of one that does not answer.
inline std::uint16_t status_field(status s) {
  if (s.ok()) return 0;
  if (s.code != status_code::nvme_error) return silent_ssd;
  const auto vendor = static_cast<std::uint8_t>(wire::nvme::status_code_type::vendor_specific);
  return wire::nvme::make_status(s.nvme_type, s.nvme_code, s.nvme_type == vendor);
}

}  // namespace gnstor::serve
