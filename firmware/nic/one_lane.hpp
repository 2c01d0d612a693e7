#pragma once

#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::fw {

/// Who serves a ring alone: a CPU thread, or one lane. `block_team` has the same members for the
/// threads of a block, and says what they do.
struct one_lane {
  static constexpr thread_scope scope = thread_scope_system;

  GNSTOR_HD void count(std::uint64_t* counter, std::uint64_t n = 1,
                       memory_order order = relaxed) const {
    if (counter == nullptr || n == 0) return;
    atomic_ref<std::uint64_t, scope>(*counter).fetch_add(n, order);
  }
  GNSTOR_HD bool is_behind(std::uint64_t* place, std::uint64_t value) const {
    if (place == nullptr) return false;
    if (value < *place) return true;
    *place = value;
    return false;
  }
};

}  // namespace gnstor::fw
