#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// When a channel tells the NIC about the requests that its lanes have published.
///
/// Ringing costs a fence and a store over PCIe, and only one lane at a time may do it: a policy
/// says how many requests share one. Whatever the policy, who waits for a request announces it
/// first. Two compile-time constants: `each_lane`, whether every lane publishes and rings for
/// itself or one lane of a group for all; and `may_wait`, how many published requests may be
/// without a doorbell: one more, and the lane that published it rings.
template <class D>
concept doorbell_policy = requires {
  std::bool_constant<D::each_lane>{};
  std::integral_constant<std::uint32_t, D::may_wait>{};
};

}  // namespace gnstor::inline v0
