#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::fw {

/// What is wrong with an emulated SSD: in tests, or because the array's manager has detached it.
enum class ssd_fault : std::uint32_t {
  none = 0,
  media_error,  ///< reads end with Unrecovered Read Error
  /// Every I/O ends with Internal Error, whatever the SSD would say to it; also what it swallowed
  /// while it was silent.
  dead,
  silent,  ///< I/O is swallowed: no answer
};

}  // namespace gnstor::fw
