#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::intel {

/// What a receive descriptor's RSS hash was computed over, as the 82599 numbers it. 82599
/// datasheet, 7.1.6.2, RSS Type.
enum class rss_type : std::uint8_t {
  none = 0,  ///< there is no hash
  ipv4_tcp = 1,
  ipv4 = 2,  ///< the addresses alone
  ipv6_tcp = 3,
  ipv6 = 5,
  ipv4_udp = 7,
  ipv6_udp = 8,
};

}  // namespace gnstor::wire::intel
