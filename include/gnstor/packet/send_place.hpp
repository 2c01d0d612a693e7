#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// A place in the order in which packets are sent: the position that comes next, and the transmit
/// descriptor of whatever comes next. One word, so that warps pass both on by one store.
struct send_place {
  static constexpr std::uint32_t descriptor_bits = 16;

  std::uint64_t position = 0;    ///< 48 bits
  std::uint16_t descriptor = 0;  ///< counted on beyond the ring's end, modulo 65536

  GNSTOR_HD static constexpr send_place unpack(std::uint64_t word) {
    return {word >> descriptor_bits, static_cast<std::uint16_t>(word)};
  }
  GNSTOR_HD constexpr std::uint64_t pack() const {
    return position << descriptor_bits | descriptor;
  }
  /// True if a position is less than `most` beyond this place's, modulo 2^48.
  GNSTOR_HD constexpr bool is_near(std::uint64_t other, std::uint64_t most) const {
    return static_cast<std::int64_t>((other - position) << descriptor_bits) <
           static_cast<std::int64_t>(most << descriptor_bits);
  }
  /// The place after so many positions, for which so many packets were sent.
  GNSTOR_HD constexpr send_place after(std::uint32_t positions, std::uint32_t packets) const {
    return {position + positions, static_cast<std::uint16_t>(descriptor + packets)};
  }
};

static_assert(std::is_trivially_copyable_v<send_place>);
static_assert(send_place::unpack(send_place{5, 65535}.after(2, 3).pack()).position == 7);
static_assert(send_place::unpack(send_place{5, 65535}.after(2, 3).pack()).descriptor == 2);
static_assert(send_place{5}.is_near(12, 8) && !send_place{5}.is_near(13, 8));
static_assert(send_place::unpack(send_place{(std::uint64_t{1} << 48) + 2}.pack())
                  .is_near((std::uint64_t{1} << 48) + 5, 4));

}  // namespace gnstor::inline v0
