#pragma once
/// Builders of Property Get and Property Set. NVMe Base 2.3, 6.5 and 6.6.

#include <gnstor/wire/fabrics/property_command.hpp>

namespace gnstor::wire::fabrics {

/// `property_command::attributes` for a property: only CAP has eight bytes.
GNSTOR_HD constexpr std::uint8_t property_attributes(property_offset property) {
  return property == property_offset::capabilities ? property_of_8_bytes : property_of_4_bytes;
}

/// Asks for a property; the answer is in DW0 (and DW1, for an eight-byte one) of the response.
GNSTOR_HD constexpr property_command make_property_get(std::uint16_t command_id,
                                                       property_offset property) {
  property_command command{};
  command.opcode = nvme::fabrics_opcode;
  command.flags = nvme::flags_sgl;
  command.command_id = command_id;
  command.fctype = static_cast<std::uint8_t>(command_type::property_get);
  command.sgl = nvme::make_empty_sgl();
  command.attributes = property_attributes(property);
  command.offset = static_cast<std::uint32_t>(property);
  return command;
}

/// Sets a property to `value`.
GNSTOR_HD constexpr property_command make_property_set(std::uint16_t command_id,
                                                       property_offset property,
                                                       std::uint64_t value) {
  property_command command = make_property_get(command_id, property);
  command.fctype = static_cast<std::uint8_t>(command_type::property_set);
  command.value = value;
  return command;
}

}  // namespace gnstor::wire::fabrics
