#pragma once

#include <gnstor/wire/ethernet/network_order.hpp>

namespace gnstor::wire::ethernet {

/// What stands before each datagram of memcached's protocol over UDP. memcached, doc/protocol.txt,
/// "UDP protocol".
struct memcached_header {
  static constexpr std::uint16_t usual_port = 11211;

  network16 request;   ///< chosen by the client; its answer has the same
  network16 sequence;  ///< of this datagram, from 0 on
  network16 count;     ///< datagrams of the request, or of the answer
  network16 reserved;  ///< 0; clients are known that send something else
};

static_assert(sizeof(memcached_header) == 8 && std::is_trivial_v<memcached_header>);
static_assert(offsetof(memcached_header, sequence) == 2);
static_assert(offsetof(memcached_header, count) == 4);

}  // namespace gnstor::wire::ethernet
