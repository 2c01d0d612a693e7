#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0 {

/// In whose hands a packet buffer is: the value of its ownership word. Only the owner touches the
/// buffer, and only the owner stores the word, to hand it on.
struct packet_owner {
  static constexpr std::uint32_t free = 0;      ///< at home; the receive lane of its pool takes it
  static constexpr std::uint32_t receiver = 1;  ///< the receive kernel, or the NIC by a descriptor
  static constexpr std::uint32_t sender = 2;    ///< the transmit kernel, which has not sent it yet
  static constexpr std::uint32_t sending = 3;   ///< the NIC, by a transmit descriptor
  /// The application kernel `k` of a chain.
  GNSTOR_HD static constexpr std::uint32_t application(std::uint32_t k) { return 4 + k; }
};

}  // namespace gnstor::inline v0
