#pragma once

#include <gnstor/wire/ethernet/mac_address.hpp>

#include <cstdint>
#include <type_traits>

namespace gnstor::inline v0 {

/// What becomes of the packets of a route. One 64-bit word of a table, so that whoever looks while
/// a CPU changes it sees one or the other.
struct next_hop {
  enum class state_kind : std::uint8_t {
    unresolved,   ///< the neighbour's hardware address is not known
    reachable,    ///< they go to `hardware`
    unreachable,  ///< the route says that nobody reaches it
    prohibited,   ///< the route says that nobody may
    blackhole,    ///< the route says that they vanish
  };

  wire::ethernet::mac_address hardware{};
  state_kind state = state_kind::unresolved;

  GNSTOR_HD constexpr std::uint64_t word() const {
    std::uint64_t w = static_cast<std::uint64_t>(state) << 48;
    for (int k = 0; k < 6; ++k) w |= std::uint64_t{hardware.byte[k]} << 8 * k;
    return w;
  }
  GNSTOR_HD static constexpr next_hop of(std::uint64_t word) {
    next_hop h;
    h.state = static_cast<state_kind>(word >> 48 & 0xff);
    for (int k = 0; k < 6; ++k) h.hardware.byte[k] = static_cast<std::uint8_t>(word >> 8 * k);
    return h;
  }
};

static_assert(std::is_trivially_copyable_v<next_hop>);
static_assert(next_hop::of(0).state == next_hop::state_kind::unresolved);
static_assert(next_hop{{{1, 2, 3, 4, 5, 6}}, next_hop::state_kind::reachable}.word() ==
              0x0001060504030201);

}  // namespace gnstor::inline v0
