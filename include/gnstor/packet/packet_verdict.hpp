#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0 {

/// What an application says becomes of a packet.
enum class packet_verdict : std::uint8_t {
  forward,  ///< the next application of the chain has it, or the transmit kernel
  drop,     ///< its buffer goes home
  hold,     ///< the application keeps it, and says `packet::forward` or `packet::drop` later
};

}  // namespace gnstor::inline v0
