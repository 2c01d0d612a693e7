#pragma once

#include <gnstor/simt/warp.hpp>

namespace gnstor::simt {

/// A lane that acts alone, as a group of which the compiler knows that it has no other: what is
/// written for groups becomes a lane's own code.
struct single_lane {
  GNSTOR_HD static std::uint32_t thread_rank() { return 0; }
  GNSTOR_HD static std::uint32_t size() { return 1; }
  GNSTOR_HD static void sync() {}
  GNSTOR_HD static std::uint32_t ballot(int predicate) { return predicate != 0 ? 1 : 0; }
  GNSTOR_HD static bool any(int predicate) { return predicate != 0; }
  GNSTOR_HD static bool all(int predicate) { return predicate != 0; }
  template <class T>
  GNSTOR_HD static T shfl(T value, int) {
    return value;
  }
  template <class T>
  GNSTOR_HD static std::uint32_t match_any(T) {
    return 1;
  }
};

static_assert(warp_group<single_lane>);

}  // namespace gnstor::simt
