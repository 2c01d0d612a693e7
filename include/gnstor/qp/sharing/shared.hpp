#pragma once

#include <gnstor/qp/sharing_policy.hpp>

namespace gnstor::inline v0::sharing {

/// Any number of lanes of one device, at once: the default.
struct shared {
  static constexpr bool alone = false;
  template <class T>
  using word = device_word<T>;
};

static_assert(sharing_policy<shared>);

}  // namespace gnstor::inline v0::sharing
