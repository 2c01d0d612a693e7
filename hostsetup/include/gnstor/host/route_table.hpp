#pragma once

#include <gnstor/host/memory_block.hpp>
#include <gnstor/host/neighbour_list.hpp>
#include <gnstor/host/nic.hpp>
#include <gnstor/host/route_list.hpp>
#include <gnstor/packet/route_table.hpp>

#include <unordered_map>
#include <utility>
#include <vector>

namespace gnstor::host {

/// Owns a table of IPv4 routes where kernels reach it, 32 MiB and what prefixes longer than /24
/// take. Move-only; the kernels that have its `ref` must end before it.
class route_table {
 public:
  /// Makes the table. A neighbour that a connected route leads to becomes a host route of its own;
  /// next hops of which no neighbour is known are unresolved.
  /// @param where whose machine the kernels run on
  /// Throws `input_error` for more next hops or more /24 with longer prefixes than the table holds,
  /// `error` where there is not so much memory.
  route_table(const nic& where, const route_list& routes, const neighbour_list& neighbours = {});

  /// For kernels.
  gnstor::route_table ref() const { return ref_; }

  /// Sets the hardware address of a next hop, also while kernels run. False if no route goes there.
  /// One thread at a time.
  bool set_neighbour(const neighbour& n);
  /// Forgets it: packets to it count as `no_neighbour` from then on. False as above.
  bool forget_neighbour(std::uint32_t address);

  /// The gateway of what `ref().look_up` says; 0: a connected, blackhole, ... route.
  std::uint32_t gateway(std::uint16_t hop) const { return gateways_.at(hop); }
  std::size_t bytes() const { return memory_.bytes(); }

 private:
  using kind = route::kind;
  struct levels;

  std::uint16_t hop_of(const route& r, std::vector<std::uint64_t>& words);
  bool set(std::uint32_t address, const next_hop& hop);

  std::vector<std::uint32_t> gateways_;                    ///< of each next hop
  std::unordered_map<std::uint64_t, std::uint16_t> hops_;  ///< by kind and gateway
  std::size_t hops_at_ = 0;                                ///< in memory
  memory_block memory_;
  gnstor::route_table ref_;
};

}  // namespace gnstor::host
