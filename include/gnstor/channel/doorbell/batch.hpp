#pragma once

#include <gnstor/channel/doorbell_policy.hpp>

namespace gnstor::inline v0::doorbell {

/// One doorbell for `N` published requests, or for fewer once somebody waits for one of them.
template <std::uint32_t N>
struct batch {
  static_assert(N > 0, "a batch of no requests would never be announced");
  static constexpr bool each_lane = false;
  static constexpr std::uint32_t may_wait = N - 1;
};

static_assert(doorbell_policy<batch<32>> && batch<1>::may_wait == 0);

}  // namespace gnstor::inline v0::doorbell
