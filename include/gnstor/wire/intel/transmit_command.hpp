#pragma once
/// Bits 31:24 of a transmit descriptor's third word, the same in all formats.

#include <gnstor/core/config.hpp>

namespace gnstor::wire::intel {

/// What a driver wants done with a buffer.
struct transmit_command {
  static constexpr std::uint32_t end_of_packet = 1u << 24;
  static constexpr std::uint32_t insert_check_sequence = 1u << 25;
  static constexpr std::uint32_t report_status = 1u << 27;  ///< without it: no done bit, ever
  static constexpr std::uint32_t extended = 1u << 29;       ///< not legacy
  /// A whole frame in one buffer, with an answer.
  static constexpr std::uint32_t frame =
      end_of_packet | insert_check_sequence | report_status | extended;
};

static_assert(transmit_command::frame == 0x2b000000);

}  // namespace gnstor::wire::intel
