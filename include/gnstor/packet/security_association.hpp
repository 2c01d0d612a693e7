#pragma once

#include <gnstor/packet/esp_transform.hpp>
#include <gnstor/packet/ipv4_prefix.hpp>
#include <gnstor/packet/replay_window.hpp>

namespace gnstor::inline v0 {

/// One direction of an ESP tunnel between two gateways, in memory that its kernel reaches. RFC
/// 4301, 4.4.2.
template <esp_transform Transform>
struct security_association {
  std::uint32_t spi = 0;             ///< 256 or more; chosen by who receives
  std::uint32_t source = 0;          ///< of the tunnel
  std::uint32_t destination = 0;     ///< of the tunnel
  ipv4_prefix from;                  ///< what may go through it
  ipv4_prefix to;                    ///< likewise
  std::uint64_t first_sequence = 1;  ///< of who sends. A key is never used again with a number that
                                     ///< it had: take another key, or go on behind
  Transform transform;
  replay_window window{};  ///< of who receives

  GNSTOR_HD constexpr bool admits(std::uint32_t packet_source,
                                  std::uint32_t packet_destination) const {
    return from.holds(packet_source) && to.holds(packet_destination);
  }
};

}  // namespace gnstor::inline v0
