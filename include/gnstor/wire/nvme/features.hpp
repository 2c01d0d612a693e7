#pragma once
/// Set Features and Get Features. NVMe Base 2.3, 5.1.11 and 5.1.25.

#include <gnstor/wire/nvme/read_write.hpp>

namespace gnstor::wire::nvme {

// `feature_arbitration` is in arbitration.hpp.
inline constexpr std::uint8_t feature_power_management = 0x02;
inline constexpr std::uint8_t feature_temperature_threshold = 0x04;
inline constexpr std::uint8_t feature_error_recovery = 0x05;
inline constexpr std::uint8_t feature_volatile_write_cache = 0x06;
inline constexpr std::uint8_t feature_number_of_queues = 0x07;
inline constexpr std::uint8_t feature_write_atomicity = 0x0a;
inline constexpr std::uint8_t feature_asynchronous_events = 0x0b;
inline constexpr std::uint8_t feature_keep_alive_timer = 0x0f;
inline constexpr std::uint8_t feature_host_identifier = 0x81;

// Which value of a feature a Get Features asks for: `selected_value`.
inline constexpr std::uint8_t select_current = 0;
inline constexpr std::uint8_t select_default = 1;
inline constexpr std::uint8_t select_saved = 2;
inline constexpr std::uint8_t select_capabilities = 3;
inline constexpr std::uint32_t feature_changeable = 1u << 2;  ///< of `select_capabilities`

inline constexpr std::uint32_t write_cache_enabled = 1u << 0;   ///< value of feature 06h
inline constexpr std::uint32_t host_identifier_long = 1u << 0;  ///< CDW11 of feature 81h: 128 bits

inline constexpr std::uint32_t max_io_queues = 65535;

/// Bits of the asynchronous event configuration: the critical warnings of the health log.
inline constexpr std::uint32_t event_health_warnings = 0x1f;

/// Bit of the asynchronous event configuration, and of `identify_controller::oaes`: a namespace was
/// added, deleted or changed.
inline constexpr std::uint32_t event_namespace_attribute = 1u << 8;

/// Likewise, of a discovery controller: the discovery log page has changed.
inline constexpr std::uint32_t event_discovery_log = 1u << 31;

/// Sets feature `id` to `value`.
GNSTOR_HD constexpr submission_entry make_set_features(std::uint16_t command_id, std::uint8_t id,
                                                       std::uint32_t value) {
  submission_entry entry =
      make_command(static_cast<std::uint8_t>(admin_opcode::set_features), command_id, 0);
  entry.cdw10 = id;
  entry.cdw11 = value;
  return entry;
}

/// Asks for the current value of feature `id`, which comes in DW0 of the response.
GNSTOR_HD constexpr submission_entry make_get_features(std::uint16_t command_id, std::uint8_t id) {
  submission_entry entry =
      make_command(static_cast<std::uint8_t>(admin_opcode::get_features), command_id, 0);
  entry.cdw10 = id;
  return entry;
}

/// True for Set Features and Get Features.
GNSTOR_HD constexpr bool is_feature_command(const submission_entry& entry) {
  return entry.opcode == static_cast<std::uint8_t>(admin_opcode::set_features) ||
         entry.opcode == static_cast<std::uint8_t>(admin_opcode::get_features);
}

/// The feature that a Set Features or Get Features is about.
GNSTOR_HD constexpr std::uint8_t feature_of(const submission_entry& entry) {
  return static_cast<std::uint8_t>(entry.cdw10);
}
/// The value that a Get Features asks for, `select_*`: SEL.
GNSTOR_HD constexpr std::uint8_t selected_value(const submission_entry& entry) {
  return static_cast<std::uint8_t>(entry.cdw10 >> 8 & 7);
}
/// True if a Set Features is to outlast a reset: SV.
GNSTOR_HD constexpr bool saves_feature(const submission_entry& entry) {
  return (entry.cdw10 & 1u << 31) != 0;
}

/// The temperature in kelvin of the value of feature 04h.
GNSTOR_HD constexpr std::uint32_t threshold_kelvin(std::uint32_t value) { return value & 0xffff; }
/// The sensor that the value of feature 04h is about: 0 is the composite temperature.
GNSTOR_HD constexpr std::uint32_t threshold_sensor(std::uint32_t value) {
  return value >> 16 & 0xf;
}

/// The value of feature 07h for `queues` (1 to `max_io_queues`) I/O submission and as many
/// completion queues.
GNSTOR_HD constexpr std::uint32_t queue_count_value(std::uint32_t queues) {
  return ((queues - 1) & 0xffff) | ((queues - 1) & 0xffff) << 16;
}

/// The I/O queues that the answer to feature 07h grants: the smaller of the two numbers.
GNSTOR_HD constexpr std::uint32_t granted_queues(std::uint32_t dw0) {
  const std::uint32_t submission = (dw0 & 0xffff) + 1;
  const std::uint32_t completion = (dw0 >> 16) + 1;
  return submission < completion ? submission : completion;
}

/// False for a value of feature 07h that asks for 65,536 queues, which no number stands for.
GNSTOR_HD constexpr bool is_queue_count(std::uint32_t value) {
  return (value & 0xffff) < max_io_queues && value >> 16 < max_io_queues;
}

static_assert(granted_queues(queue_count_value(7)) == 7 && granted_queues(0x00010003) == 2);

}  // namespace gnstor::wire::nvme
