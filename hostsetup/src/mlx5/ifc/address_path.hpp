#pragma once
/// The address path: how packets find the peer.

#include "field.hpp"

namespace gnstor::host::mlx5::ifc::address_path {

inline constexpr std::uint32_t bits = 0x160;
inline constexpr field pkey_index{0x010, 16};
inline constexpr field grh{0x028, 1};        ///< InfiniBand only: RoCE always has one
inline constexpr field path_bits{0x029, 7};  ///< InfiniBand only
inline constexpr field lid{0x030, 16};       ///< InfiniBand only
inline constexpr field ack_timeout{0x040, 5};
inline constexpr field source_address{0x048, 8};  ///< index in the port's table of GIDs
inline constexpr field static_rate{0x054, 4};
inline constexpr field hop_limit{0x058, 8};
inline constexpr field traffic_class{0x064, 8};
inline constexpr field flow_label{0x06c, 20};
inline constexpr field gid_high{0x080, 64};
inline constexpr field gid_low{0x0c0, 64};
inline constexpr field dscp{0x10a, 6};
inline constexpr field udp_source_port{0x110, 16};   ///< RoCE v2 only
inline constexpr field ethernet_priority{0x121, 3};  ///< RoCE only
inline constexpr field service_level{0x124, 4};      ///< InfiniBand only
inline constexpr field port{0x128, 8};
inline constexpr field mac_high{0x130, 16};
inline constexpr field mac_low{0x140, 32};

}  // namespace gnstor::host::mlx5::ifc::address_path
