#pragma once

#include <gnstor/qp/capsule_placement.hpp>

namespace gnstor::inline v0::capsule {

/// The send entry holds the capsule (inline data): the NIC reads once over PCIe, and every entry is
/// two basic blocks.
struct in_entry {
  static constexpr std::uint32_t blocks = 2;
};

static_assert(capsule_placement<in_entry>);

}  // namespace gnstor::inline v0::capsule
