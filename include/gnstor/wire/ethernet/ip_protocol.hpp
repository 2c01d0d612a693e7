#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::ethernet {

/// What follows an IP header: assigned numbers, by IANA.
enum class ip_protocol : std::uint8_t { icmp = 1, tcp = 6, udp = 17, esp = 50, icmpv6 = 58 };

}  // namespace gnstor::wire::ethernet
