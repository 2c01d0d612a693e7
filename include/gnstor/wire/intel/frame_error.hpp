#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::intel {

/// What a NIC found wrong with a frame that it delivers all the same.
enum class frame_error : std::uint8_t {
  none,
  check_sequence,  ///< the frame check sequence: bits were damaged on the wire
  length,          ///< too short, too long, or not as long as it says
  checksum,        ///< of IP, TCP or UDP
  other,           ///< of the MAC or the PHY
};

}  // namespace gnstor::wire::intel
