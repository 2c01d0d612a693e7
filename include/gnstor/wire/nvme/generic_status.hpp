#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::nvme {

/// Status codes of type 0h, which any command may answer. NVMe Base 2.3, 4.2.3, "Generic Command
/// Status".
///
/// 80h and above are the NVM command set's.
enum class generic_status : std::uint8_t {
  success = 0x00,
  invalid_opcode = 0x01,
  invalid_field = 0x02,
  command_id_conflict = 0x03,
  data_transfer_error = 0x04,
  aborted_by_power_loss = 0x05,
  internal_error = 0x06,
  command_abort_requested = 0x07,
  aborted_by_queue_deletion = 0x08,
  invalid_namespace = 0x0b,
  command_sequence_error = 0x0c,
  invalid_sgl_segment = 0x0d,
  invalid_sgl_count = 0x0e,
  invalid_sgl_length = 0x0f,
  invalid_metadata_sgl_length = 0x10,
  invalid_sgl_type = 0x11,
  invalid_prp_offset = 0x13,
  operation_denied = 0x15,
  invalid_sgl_offset = 0x16,
  host_id_inconsistent_format = 0x18,
  keep_alive_expired = 0x19,
  keep_alive_invalid = 0x1a,
  namespace_write_protected = 0x20,
  command_interrupted = 0x21,
  transient_transport_error = 0x22,
  lba_out_of_range = 0x80,
  capacity_exceeded = 0x81,
  namespace_not_ready = 0x82,
  reservation_conflict = 0x83,
};

}  // namespace gnstor::wire::nvme
