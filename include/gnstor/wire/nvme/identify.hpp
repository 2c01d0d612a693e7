#pragma once
/// The Identify command and its answers. NVMe Base 2.3, 5.1.13.

#include <gnstor/wire/nvme/identify_controller.hpp>
#include <gnstor/wire/nvme/identify_namespace.hpp>
#include <gnstor/wire/nvme/identify_nvm_controller.hpp>
#include <gnstor/wire/nvme/namespace_descriptor.hpp>
#include <gnstor/wire/nvme/namespace_list.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

namespace gnstor::wire::nvme {

inline constexpr std::uint8_t cns_namespace = 0x00;
inline constexpr std::uint8_t cns_controller = 0x01;
inline constexpr std::uint8_t cns_active_namespaces = 0x02;
inline constexpr std::uint8_t cns_namespace_descriptors = 0x03;
inline constexpr std::uint8_t cns_command_set_controller = 0x06;  ///< of `command_set_of`

inline constexpr std::uint32_t identify_bytes = 4096;  ///< of each structure

/// Asks for the structure `cns`; `data` is `identify_bytes` long. For the list of active namespaces
/// `nsid` is the one before the first that is wanted.
GNSTOR_HD constexpr submission_entry make_identify(std::uint16_t command_id, std::uint8_t cns,
                                                   std::uint32_t nsid, keyed_sgl data) {
  submission_entry entry =
      make_command(static_cast<std::uint8_t>(admin_opcode::identify), command_id, nsid);
  entry.dptr = data;
  entry.cdw10 = cns;
  return entry;
}

/// The structure that an Identify asks for.
GNSTOR_HD constexpr std::uint8_t cns_of(const submission_entry& entry) {
  return static_cast<std::uint8_t>(entry.cdw10);
}
/// The I/O command set that it asks about: 0 is the NVM one.
GNSTOR_HD constexpr std::uint8_t command_set_of(const submission_entry& entry) {
  return static_cast<std::uint8_t>(entry.cdw11 >> 24);
}

}  // namespace gnstor::wire::nvme
