#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// What an `intrusion_detector` has seen, each frame in one of the first four.
struct intrusion_counts {
  std::uint64_t inspected;     ///< frames whose payload was compared with the rules
  std::uint64_t not_ipv4;      ///< ARP, IPv6, frames with VLAN tags
  std::uint64_t malformed;     ///< headers that are cut off, or contradict what is around them
  std::uint64_t fragments;     ///< of IP datagrams
  std::uint64_t with_options;  ///< of `inspected`: had options of IP, which were skipped
  std::uint64_t passed;        ///< of `inspected`: by a rule that says pass
  std::uint64_t dropped;       ///< of `inspected`: by a rule that says drop
};

static_assert(std::is_trivial_v<intrusion_counts>);

}  // namespace gnstor::inline v0
