#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// Who talks to whom: a packet's 5-tuple, in numbers.
struct packet_flow_key {
  std::uint32_t source;  ///< 0x0a400002: 10.64.0.2
  std::uint32_t destination;
  std::uint16_t source_port;  ///< 0 where the protocol has none, likewise
  std::uint16_t destination_port;
  std::uint32_t protocol;  ///< of IP: 6 is TCP

  friend constexpr bool operator==(const packet_flow_key&, const packet_flow_key&) = default;
};

static_assert(std::is_trivial_v<packet_flow_key> && sizeof(packet_flow_key) == 16);

}  // namespace gnstor::inline v0
