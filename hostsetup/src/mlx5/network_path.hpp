#pragma once

#include "verbs/protection_domain.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace gnstor::host::mlx5 {

/// How packets of a queue pair reach its peer, as a queue pair context wants it.
struct network_path {
  ibv_ah_attr route{};  ///< from the connection manager
  std::uint16_t pkey_index = 0;
  bool roce = false;
  bool udp = false;  ///< RoCE v2
  std::array<std::uint8_t, 6> peer_mac{};

  /// Completes what the connection manager says of a route: which protocol it is, and for RoCE the
  /// neighbour's MAC. Throws `error`.
  static network_path of(const verbs::protection_domain& domain, const ibv_ah_attr& route,
                         std::uint16_t pkey_index);

  /// Writes the path into a command at the bit `begin`.
  /// @param local,remote queue pair numbers: the UDP source port follows from them, so that
  /// switches spread the queues over their paths
  void put(std::span<unsigned char> command, std::uint32_t begin, std::uint32_t local,
           std::uint32_t remote) const;
};

}  // namespace gnstor::host::mlx5
