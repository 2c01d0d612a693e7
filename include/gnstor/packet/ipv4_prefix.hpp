#pragma once

#include <gnstor/core/config.hpp>

#include <cstdint>

namespace gnstor::inline v0 {

/// IPv4 addresses that begin with the same bits.
struct ipv4_prefix {
  std::uint32_t address = 0;  ///< 0x0a400000: 10.64.0.0
  std::uint32_t bits = 0;     ///< 0: all addresses

  GNSTOR_HD constexpr bool holds(std::uint32_t a) const {
    return bits == 0 || (a ^ address) >> (32 - bits) == 0;
  }
};

static_assert(ipv4_prefix{0x0a400000, 16}.holds(0x0a40ffff));
static_assert(!ipv4_prefix{0x0a400000, 16}.holds(0x0a410000) && ipv4_prefix{}.holds(1));

}  // namespace gnstor::inline v0
