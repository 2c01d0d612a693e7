#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::fw {

/// What is wrong with an emulated SSD: in tests, or because the array's manager has detached it.
enum class ssd_fault : std::uint32_t {
  none = 0,
  media_error,  ///< reads end with Unrecovered Read Error
  dead,         ///< every I/O ends with Internal Error, also what it swallowed while it was silent
  silent,       ///< I/O is swallowed: no answer
};

}  // namespace gnstor::fw
