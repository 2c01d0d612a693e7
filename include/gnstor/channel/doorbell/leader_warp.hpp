#pragma once

#include <gnstor/channel/doorbell_policy.hpp>

namespace gnstor::inline v0::doorbell {

/// The lanes of a warp that send together share one doorbell, rung at once: the default.
struct leader_warp {
  static constexpr bool each_lane = false;
  static constexpr std::uint32_t may_wait = 0;
};

static_assert(doorbell_policy<leader_warp>);

}  // namespace gnstor::inline v0::doorbell
