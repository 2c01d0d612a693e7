#pragma once
/// Set Features and Get Features. NVMe Base 2.3, 5.1.11 and 5.1.25.

#include <gnstor/wire/nvme/read_write.hpp>

namespace gnstor::wire::nvme {

inline constexpr std::uint8_t feature_number_of_queues = 0x07;
inline constexpr std::uint8_t feature_asynchronous_events = 0x0b;
inline constexpr std::uint8_t feature_keep_alive_timer = 0x0f;

/// Bit of the asynchronous event configuration, and of `identify_controller::oaes`: a namespace was
/// added, deleted or changed.
inline constexpr std::uint32_t event_namespace_attribute = 1u << 8;

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

/// The value of feature 07h for `queues` (1 to 65,535) I/O submission and as many completion
/// queues.
GNSTOR_HD constexpr std::uint32_t queue_count_value(std::uint32_t queues) {
  return ((queues - 1) & 0xffff) | ((queues - 1) & 0xffff) << 16;
}

/// The I/O queues that the answer to feature 07h grants: the smaller of the two numbers.
GNSTOR_HD constexpr std::uint32_t granted_queues(std::uint32_t dw0) {
  const std::uint32_t submission = (dw0 & 0xffff) + 1;
  const std::uint32_t completion = (dw0 >> 16) + 1;
  return submission < completion ? submission : completion;
}

static_assert(granted_queues(queue_count_value(7)) == 7 && granted_queues(0x00010003) == 2);

}  // namespace gnstor::wire::nvme
