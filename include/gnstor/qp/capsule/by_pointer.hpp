#pragma once

#include <gnstor/qp/capsule_placement.hpp>

namespace gnstor::inline v0::capsule {

/// The send entry points to the capsule, which the NIC fetches: the default. An entry is one basic
/// block, and the NIC reads twice.
struct by_pointer {
  static constexpr std::uint32_t blocks = 1;
};

static_assert(capsule_placement<by_pointer>);

}  // namespace gnstor::inline v0::capsule
