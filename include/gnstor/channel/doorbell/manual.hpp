#pragma once

#include <gnstor/channel/doorbell_policy.hpp>

namespace gnstor::inline v0::doorbell {

/// No doorbell before `channel::commit`, or before somebody waits for a request or for room.
struct manual {
  static constexpr bool each_lane = false;
  static constexpr std::uint32_t may_wait = ~std::uint32_t{0};
};

static_assert(doorbell_policy<manual>);

}  // namespace gnstor::inline v0::doorbell
