#pragma once

#include <gnstor/core/status.hpp>

namespace gnstor::inline v0 {

/// A value, or the status that says why there is none.
template <class T>
struct [[nodiscard]] result {
  T value{};
  gnstor::status status{};

  GNSTOR_HD constexpr result(T v) : value(v) {}                // NOLINT: a value is a result
  GNSTOR_HD constexpr result(gnstor::status s) : status(s) {}  // NOLINT: so is a failure
  GNSTOR_HD constexpr explicit operator bool() const { return status.ok(); }
};

}  // namespace gnstor::inline v0
