#pragma once

#include <gnstor/packet/packet_flow_key.hpp>

namespace gnstor::inline v0 {

/// A packet that matched a rule.
struct intrusion_alert {
  std::uint32_t rule;  ///< its place in the set
  std::uint32_t sid;   ///< its number
  std::uint32_t revision;
  std::uint32_t action;  ///< `intrusion_rule::action_kind`
  packet_flow_key key;   ///< of the packet
};

static_assert(std::is_trivial_v<intrusion_alert> && sizeof(intrusion_alert) == 32);

}  // namespace gnstor::inline v0
