#pragma once
/// Lengths of frames in bytes, from the destination address on, without the four of the frame check
/// sequence, which the NIC adds and takes away. IEEE 802.3, 4A.4.2.

#include <gnstor/core/config.hpp>

namespace gnstor::wire::ethernet {

inline constexpr std::uint32_t min_frame_bytes = 60;    ///< a shorter one is a runt
inline constexpr std::uint32_t max_frame_bytes = 1514;  ///< with one VLAN tag four more
/// Of jumbo frames as most networks set them up, whose IP packets have 9,000 bytes: no standard's.
inline constexpr std::uint32_t jumbo_frame_bytes = 9014;
inline constexpr std::uint32_t check_sequence_bytes = 4;
/// What a frame takes on the wire beside its bytes: preamble, check sequence and gap.
inline constexpr std::uint32_t wire_overhead_bytes = 8 + check_sequence_bytes + 12;

}  // namespace gnstor::wire::ethernet
