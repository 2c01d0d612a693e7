#pragma once

#include <gnstor/core/hash.hpp>
#include <gnstor/wire/ethernet/mac_address.hpp>

#include <type_traits>

namespace gnstor::wire::ethernet {

/// From where and to where the numbered frames of generators go.
struct numbered_addresses {
  bool anywhere = false;    ///< to any unicast address; else within 10.128.0.0/9
  std::uint64_t seed = 1;   ///< of addresses anywhere
  std::uint32_t flows = 0;  ///< 5-tuples of a stream, a frame of each in turn; 0: each frame has an
                            ///< address of its own

  /// The hardware address of a port, which its generator sends to. Locally administered: "GNS", and
  /// the port from 1 on.
  GNSTOR_HD static constexpr mac_address port(std::uint32_t k) {
    return {{0x02, 0x47, 0x4e, 0x53, 0x00, static_cast<std::uint8_t>(k + 1)}};
  }
  GNSTOR_HD static constexpr std::uint32_t source(std::uint32_t port) { return 0x0a000000u + port; }
  /// The flow of frame `n`, where there are flows.
  GNSTOR_HD constexpr std::uint32_t flow(std::uint64_t n) const {
    return static_cast<std::uint32_t>(n % flows);
  }
  /// The UDP port that frame `n` comes from: of the 16,384 that are nobody's (RFC 6335, 6).
  GNSTOR_HD constexpr std::uint16_t source_port(std::uint64_t n, std::uint16_t usual) const {
    return flows == 0 ? usual : static_cast<std::uint16_t>(0xc000 + flow(n) % 0x4000);
  }
  /// Of frame `n` of a generator. Anywhere is 1.0.0.0 to 223.255.255.255 without 127.0.0.0/8.
  GNSTOR_HD constexpr std::uint32_t destination(std::uint64_t n) const {
    if (flows != 0) n = flow(n);
    if (!anywhere) return 0x0a800000u + (mix32(static_cast<std::uint32_t>(n)) & 0x7fffff);
    const std::uint64_t drawn = mix64(mix64(seed + 6) + n);
    const auto first = static_cast<std::uint32_t>(1 + (drawn >> 32) % 222);
    return (first < 127 ? first : first + 1) << 24 | (static_cast<std::uint32_t>(drawn) & 0xffffff);
  }
};

static_assert(std::is_trivially_copyable_v<numbered_addresses>);

}  // namespace gnstor::wire::ethernet
