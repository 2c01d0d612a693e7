#pragma once

#include <gnstor/channel/doorbell_policy.hpp>

namespace gnstor::inline v0::doorbell {

/// Every lane publishes its own request and rings for it, as a thread without a warp would.
struct every {
  static constexpr bool each_lane = true;
  static constexpr std::uint32_t may_wait = 0;
};

static_assert(doorbell_policy<every>);

}  // namespace gnstor::inline v0::doorbell
