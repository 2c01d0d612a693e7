#pragma once
/// Get Log Page. NVMe Base 2.3, 5.1.12.

#include <gnstor/wire/nvme/namespace_list.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

namespace gnstor::wire::nvme {

inline constexpr std::uint8_t log_error_information = 0x01;
inline constexpr std::uint8_t log_health = 0x02;
inline constexpr std::uint8_t log_firmware_slot = 0x03;
inline constexpr std::uint8_t log_changed_namespaces = 0x04;
inline constexpr std::uint8_t log_commands = 0x05;
inline constexpr std::uint8_t log_discovery = 0x70;

/// Asks for `bytes` (a multiple of 4) of log page `id` from byte `offset` on.
GNSTOR_HD constexpr submission_entry make_get_log_page(std::uint16_t command_id, std::uint8_t id,
                                                       std::uint64_t offset, std::uint32_t bytes,
                                                       keyed_sgl data) {
  submission_entry entry = make_command(static_cast<std::uint8_t>(admin_opcode::get_log_page),
                                        command_id, all_namespaces);
  const std::uint32_t dwords = bytes / 4 - 1;
  entry.dptr = data;
  entry.cdw10 = id | (dwords & 0xffff) << 16;
  entry.cdw11 = dwords >> 16;
  entry.cdw12 = static_cast<std::uint32_t>(offset);
  entry.cdw13 = static_cast<std::uint32_t>(offset >> 32);
  return entry;
}

/// The page that a Get Log Page asks for.
GNSTOR_HD constexpr std::uint8_t log_of(const submission_entry& entry) {
  return static_cast<std::uint8_t>(entry.cdw10);
}
/// The bytes that it asks for: NUMD, zero based, in dwords.
GNSTOR_HD constexpr std::uint64_t log_bytes_of(const submission_entry& entry) {
  return ((std::uint64_t{entry.cdw11 & 0xffff} << 16 | entry.cdw10 >> 16) + 1) * 4;
}
/// The place in the page from which on it asks: LPO.
GNSTOR_HD constexpr std::uint64_t log_offset_of(const submission_entry& entry) {
  return std::uint64_t{entry.cdw13} << 32 | entry.cdw12;
}
/// OT: the place is the index of an entry.
GNSTOR_HD constexpr bool log_by_index(const submission_entry& entry) {
  return (entry.cdw14 & 1u << 23) != 0;
}
/// RAE: the event that made the host read the page stays reported.
GNSTOR_HD constexpr bool log_retains_event(const submission_entry& entry) {
  return (entry.cdw10 & 1u << 15) != 0;
}

static_assert(make_get_log_page(0, log_discovery, 1ull << 32, 1024, {}).cdw10 == 0x00ff0070);
static_assert(log_offset_of(make_get_log_page(0, log_health, 1ull << 32, 4, {})) == 1ull << 32);
static_assert(log_bytes_of(make_get_log_page(0, log_health, 0, 0x40004, {})) == 0x40004);

}  // namespace gnstor::wire::nvme
