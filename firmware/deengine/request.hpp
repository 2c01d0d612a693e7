#pragma once

#include <gnstor/core/units.hpp>

namespace gnstor::fw {

/// One I/O command as the firmware checks it, taken from the command and from the association it
/// came by.
struct request {
  volume_id vid;
  client_id client;        ///< from the SLBA
  client_id bound_client;  ///< of the association, set at Connect
  vba first;
  std::uint32_t blocks = 0;
  std::uint32_t epoch = 0;  ///< array epoch the client knows
  bool write = false;       ///< it changes the volume: Write, Write Zeroes, Fill
  bool fill = false;        ///< it is a Fill, which needs a right of its own
};

}  // namespace gnstor::fw
