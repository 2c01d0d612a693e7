#pragma once
/// The 16-bit status field of a completion: phase 0, code 8:1, type 11:9, CRD 13:12, more 14,
/// DNR 15.

#include <gnstor/wire/nvme/command_status.hpp>
#include <gnstor/wire/nvme/generic_status.hpp>
#include <gnstor/wire/nvme/media_status.hpp>
#include <gnstor/wire/nvme/path_status.hpp>
#include <gnstor/wire/nvme/status_code_type.hpp>

namespace gnstor::wire::nvme {

inline constexpr std::uint16_t status_phase = 0x0001;         ///< reserved in a response capsule
inline constexpr std::uint16_t status_do_not_retry = 0x8000;  ///< the same command would fail again

/// The status field of a status code type (3 bits) and a status code. NVMe Base 2.3, 4.2.3.
GNSTOR_HD constexpr std::uint16_t make_status(std::uint8_t type, std::uint8_t code,
                                              bool dnr = false) {
  return static_cast<std::uint16_t>(code << 1 | (type & 7) << 9 | (dnr ? status_do_not_retry : 0));
}
GNSTOR_HD constexpr std::uint16_t make_status(status_code_type type, std::uint8_t code,
                                              bool dnr = false) {
  return make_status(static_cast<std::uint8_t>(type), code, dnr);
}
GNSTOR_HD constexpr std::uint16_t make_status(generic_status code, bool dnr = false) {
  return make_status(status_code_type::generic, static_cast<std::uint8_t>(code), dnr);
}
GNSTOR_HD constexpr std::uint16_t make_status(command_status code, bool dnr = false) {
  return make_status(status_code_type::command_specific, static_cast<std::uint8_t>(code), dnr);
}
GNSTOR_HD constexpr std::uint16_t make_status(media_status code, bool dnr = false) {
  return make_status(status_code_type::media, static_cast<std::uint8_t>(code), dnr);
}
GNSTOR_HD constexpr std::uint16_t make_status(path_status code, bool dnr = false) {
  return make_status(status_code_type::path, static_cast<std::uint8_t>(code), dnr);
}

/// The status code type of a status field, as `gnstor::status::nvme_type` keeps it.
GNSTOR_HD constexpr std::uint8_t status_type(std::uint16_t status) {
  return static_cast<std::uint8_t>(status >> 9 & 7);
}
/// The status code of a status field, as `gnstor::status::nvme_code` keeps it.
GNSTOR_HD constexpr std::uint8_t status_code(std::uint16_t status) {
  return static_cast<std::uint8_t>(status >> 1);
}
/// True if repeating the command is pointless.
GNSTOR_HD constexpr bool status_dnr(std::uint16_t status) {
  return (status & status_do_not_retry) != 0;
}
/// The status field with the phase tag of an in-memory completion queue. NVMe Base 2.3, 4.2.4.
GNSTOR_HD constexpr std::uint16_t with_phase(std::uint16_t status, bool phase) {
  return static_cast<std::uint16_t>((status & ~status_phase) | (phase ? status_phase : 0));
}

static_assert(make_status(media_status::unrecovered_read_error, true) == 0x8502);
static_assert(status_type(0x8502) == 2 && status_code(0x8502) == 0x81 && status_dnr(0x8502));

}  // namespace gnstor::wire::nvme
