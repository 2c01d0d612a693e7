#pragma once

#include <gnstor/wire/ethernet/network_order.hpp>

namespace gnstor::wire::ethernet {

/// A UDP header. RFC 768.
struct udp_header {
  network16 source;
  network16 destination;
  network16 total_bytes;  ///< header and data
  network16 checksum;     ///< over `pseudo_header`, header and data; 0: none
};

static_assert(sizeof(udp_header) == 8 && std::is_trivial_v<udp_header>);
static_assert(offsetof(udp_header, destination) == 2);
static_assert(offsetof(udp_header, total_bytes) == 4);
static_assert(offsetof(udp_header, checksum) == 6);

}  // namespace gnstor::wire::ethernet
