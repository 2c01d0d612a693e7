#pragma once
/// The Connect command, its data and its answer. NVMe Base 2.3, 6.3.

#include <gnstor/wire/fabrics/connect_command.hpp>
#include <gnstor/wire/fabrics/connect_data.hpp>
#include <gnstor/wire/fabrics/status.hpp>

namespace gnstor::wire::fabrics {

/// DW0 of a successful Connect response without authentication: the controller id.
GNSTOR_HD constexpr std::uint32_t make_connect_result(std::uint16_t cntlid) { return cntlid; }

/// The controller id in DW0 of a successful Connect response.
GNSTOR_HD constexpr std::uint16_t connect_cntlid(std::uint32_t dw0) {
  return static_cast<std::uint16_t>(dw0);
}

/// True if DW0 of a successful Connect response asks for authentication (AUTHREQ, bits 18:17).
GNSTOR_HD constexpr bool connect_needs_authentication(std::uint32_t dw0) {
  return (dw0 >> 17 & 3) != 0;
}

/// DW0 of a Connect refused with `invalid_parameters`: which byte is wrong, and of what.
GNSTOR_HD constexpr std::uint32_t make_invalid_parameter(std::uint16_t offset, bool in_data) {
  return std::uint32_t{offset} | std::uint32_t{in_data} << 16;
}
/// The wrong byte that DW0 of such an answer names.
GNSTOR_HD constexpr std::uint16_t invalid_offset(std::uint32_t dw0) {
  return static_cast<std::uint16_t>(dw0);
}
/// True if it is a byte of the data, and not of the command.
GNSTOR_HD constexpr bool invalid_in_data(std::uint32_t dw0) { return (dw0 & 1u << 16) != 0; }

}  // namespace gnstor::wire::fabrics
