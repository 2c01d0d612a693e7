#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0 {

/// How many packet buffers there are, of what size, and for how many lanes.
///
/// Defaults are GPU-Ether's: 2,048 buffers, four for each of 512 lanes (section III.D), with 64
/// bytes before and behind a frame for headers and authentication data (section V.A).
struct packet_pool_shape {
  static constexpr std::uint32_t data_alignment = 128;

  std::uint32_t lanes = 512;  ///< one per descriptor
  std::uint32_t buffers = 2048;
  std::uint32_t bytes = 2048;  ///< of a frame at most
  std::uint32_t headroom = 64;
  std::uint32_t tailroom = 64;

  GNSTOR_HD constexpr std::uint32_t per_lane() const { return buffers / lanes; }
  /// From the frame of one buffer to that of the next.
  GNSTOR_HD constexpr std::uint32_t stride() const { return round_up(headroom + bytes + tailroom); }
  /// Where the frame of the first buffer begins.
  GNSTOR_HD constexpr std::uint32_t first() const { return round_up(headroom); }
  /// Bytes of memory for all buffers.
  GNSTOR_HD constexpr std::uint64_t data_bytes() const {
    return first() + std::uint64_t{stride()} * buffers;
  }
  GNSTOR_HD constexpr bool is_valid() const {
    return lanes != 0 && buffers >= lanes && buffers % lanes == 0 && bytes != 0;
  }

 private:
  GNSTOR_HD static constexpr std::uint32_t round_up(std::uint32_t n) {
    return (n + data_alignment - 1) / data_alignment * data_alignment;
  }
};

static_assert(packet_pool_shape{}.per_lane() == 4 && packet_pool_shape{}.is_valid());
static_assert(packet_pool_shape{}.stride() == 2176 && packet_pool_shape{}.first() == 128);

}  // namespace gnstor::inline v0
