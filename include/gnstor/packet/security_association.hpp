#pragma once

#include <gnstor/packet/esp_transform.hpp>
#include <gnstor/packet/replay_window.hpp>

namespace gnstor::inline v0 {

/// IPv4 addresses that begin with the same bits.
struct ipv4_prefix {
  std::uint32_t address = 0;  ///< 0x0a400000: 10.64.0.0
  std::uint32_t bits = 0;     ///< 0: all addresses

  GNSTOR_HD constexpr bool holds(std::uint32_t a) const {
    return bits == 0 || (a ^ address) >> (32 - bits) == 0;
  }
};

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
