#pragma once

#include <gnstor/memory/io_buffer.hpp>
#include <gnstor/wire/fabrics/connect.hpp>
#include <gnstor/wire/nvme/arbitration.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

#include <cuda/std/bit>

#include <cstdint>

namespace gnstor::inline v0 {

/// What a device needs to send Fabrics Connect itself (seed §4.2: the host joins the queue pair,
/// the GPU does the rest).
struct connect_options {
  io_buffer data;              ///< 1024 bytes of connect data, filled by the host
  std::uint16_t queue_id = 1;  ///< 0 is the admin queue
  std::uint16_t queue_entries = 128;
  std::uint32_t keep_alive_ms = 0;  ///< of the admin queue: without a sign of life for so long, the
                                    ///< target ends the association; 0: never
  /// Of an I/O queue, where the controller arbitrates; urgent is what hosts say that do not choose.
  wire::nvme::queue_class priority = wire::nvme::queue_class::urgent;

  /// The Connect command, without a command id.
  GNSTOR_HD wire::nvme::submission_entry command() const {
    const auto memory =
        wire::nvme::make_keyed_sgl(data.address, sizeof(wire::fabrics::connect_data), data.rkey);
    return cuda::std::bit_cast<wire::nvme::submission_entry>(wire::fabrics::make_connect(
        0, queue_id, queue_entries, memory, keep_alive_ms, static_cast<std::uint8_t>(priority)));
  }
};

}  // namespace gnstor::inline v0
