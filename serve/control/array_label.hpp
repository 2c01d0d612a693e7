#pragma once

#include <string>

namespace gnstor::serve {

/// What a daemon says of its array beside the array's state.
struct array_label {
  std::string endpoint{};  ///< where sessions find its data; empty: it is not served
  std::string name{};      ///< that gnstor://HOST/NAME may ask for; empty: it has none
};

}  // namespace gnstor::serve
