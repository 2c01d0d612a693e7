#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0 {

/// What the kernels of a packet path count, each a 64-bit word of `packet_counters`.
enum class packet_cause : std::uint8_t {
  received,            ///< frames handed to the first application
  received_bytes,      ///< theirs
  sent,                ///< frames that the NIC has said it sent
  sent_bytes,          ///< theirs, when they were given to it
  dropped,             ///< by an application, for whatever reason
  malformed,           ///< of these: a header is cut off, or contradicts what is around it
  wrong_checksum,      ///< of these: a checksum that the application checked
  unsupported,         ///< of these: options, fragments, protocols, ports that it does not do
  not_for_us,          ///< of these: for another station
  held_back,           ///< in an application's hands when the path stopped
  bad_check_sequence,  ///< dropped: damaged on the wire
  bad_length,          ///< dropped: runt, oversize, or longer than a buffer
  bad_checksum,        ///< dropped: IP, TCP or UDP checksum, where the NIC checked it
  bad_other,           ///< dropped: another error of the NIC
  no_buffer,           ///< times a receive lane found its pool empty, and waited
  ring_full,           ///< times the transmit ring had no room, and packets waited
  unsendable,          ///< given up: an application left no frame that a NIC can send
  unsent,              ///< given up when the path stopped: the NIC did not take them in time
  stuck,               ///< buffers that the NIC did not give back in time: they are not used again
  count,
};

}  // namespace gnstor::inline v0
