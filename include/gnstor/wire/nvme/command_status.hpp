#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::nvme {

/// Status codes of type 1h that do not belong to a Fabrics command. NVMe Base 2.3, 4.2.3, "Command
/// Specific Status"; 80h to 83h are the NVM command set's, and mean something else after a Connect
/// (`fabrics::connect_status`).
enum class command_status : std::uint8_t {
  completion_queue_invalid = 0x00,
  invalid_queue_id = 0x01,
  invalid_queue_size = 0x02,
  abort_limit_exceeded = 0x03,
  asynchronous_event_limit_exceeded = 0x05,
  invalid_log_page = 0x09,
  invalid_format = 0x0a,
  invalid_queue_deletion = 0x0c,
  feature_not_saveable = 0x0d,
  feature_not_changeable = 0x0e,
  feature_not_namespace_specific = 0x0f,
  insufficient_namespace_capacity = 0x15,
  namespace_id_unavailable = 0x16,
  invalid_controller_id = 0x1f,
  conflicting_attributes = 0x80,
  invalid_protection_information = 0x81,
  write_to_read_only_range = 0x82,
  command_size_limit_exceeded = 0x83,
};

}  // namespace gnstor::wire::nvme
