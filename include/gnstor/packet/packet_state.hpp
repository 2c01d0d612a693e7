#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// What is known of a packet buffer beside its bytes: 32 bytes, so that one transaction of a GPU's
/// memory brings it.
struct alignas(32) packet_state {
  static constexpr std::uint32_t is_held = 1;  ///< in `flags`: the application keeps it for later

  std::uint32_t owner;   ///< `packet_owner`: stored by release, loaded by acquire
  std::uint32_t length;  ///< bytes of the frame, without its check sequence
  std::int32_t start;    ///< of the frame, relative to where the NIC writes one; negative: headroom
  std::uint32_t lap;     ///< how often its lane had received before: with the lane it gives order
  std::uint32_t flags;
  std::uint32_t status;     ///< the NIC's word on it, as the descriptor said
  std::uint32_t hash;       ///< the NIC's of its addresses and ports, where it computes one
  std::uint32_t hash_type;  ///< `wire::intel::rss_type`
};

static_assert(sizeof(packet_state) == 32 && std::is_trivial_v<packet_state>);

}  // namespace gnstor::inline v0
