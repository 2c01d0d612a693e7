#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0 {

/// A loop counter that makes the bound of a retry loop visible: `for (bounded n{64}; n;)`.
///
/// No loop of the library may run for ever on a broken peer; `test/tidy` accepts only loops of a
/// named form.
class bounded {
 public:
  GNSTOR_HD constexpr explicit bounded(std::uint64_t iterations) : left_(iterations) {}

  /// True while iterations are left; each question takes one.
  GNSTOR_HD constexpr explicit operator bool() { return left_ != 0 && left_-- != 0; }

 private:
  std::uint64_t left_;
};

}  // namespace gnstor::inline v0
