#pragma once

#include <gnstor/wire/ethernet/network_order.hpp>

namespace gnstor::wire::ethernet {

/// What an ESP packet begins with, before the initialisation vector. RFC 4303, 2.
struct esp_header {
  network32 spi;       ///< names the receiver's association; 0 to 255 are reserved
  network32 sequence;  ///< from 1 on
};

static_assert(sizeof(esp_header) == 8 && std::is_trivial_v<esp_header>);

/// What its plain text ends with, behind the padding 1, 2, 3 and so on.
struct esp_trailer {
  static constexpr std::uint8_t ipv4 = 4;  ///< `next_header` of a tunnel

  std::uint8_t padding_bytes;
  std::uint8_t next_header;
};

static_assert(sizeof(esp_trailer) == 2 && std::is_trivial_v<esp_trailer>);

}  // namespace gnstor::wire::ethernet
