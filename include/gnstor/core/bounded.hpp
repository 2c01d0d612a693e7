#pragma once

#include <gnstor/core/config.hpp>

#include <concepts>

namespace gnstor::inline v0 {

/// A loop counter that makes the bound of a retry loop visible: `for (bounded n{64}; n;)`.
///
/// No loop of the library may run for ever on a broken peer; `test/tidy` accepts only loops of a
/// named form.
/// @tparam Count counts in the type of its bound: on a GPU 64 bits are twice the work of 32
template <std::integral Count>
class bounded {
 public:
  GNSTOR_HD constexpr explicit bounded(Count iterations) : left_(iterations) {}

  /// True while iterations are left; each question takes one.
  GNSTOR_HD constexpr explicit operator bool() {
    if (left_ == 0) return false;
    --left_;
    return true;
  }

 private:
  Count left_;
};

}  // namespace gnstor::inline v0
