#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::fw {

/// What is wrong with an emulated SSD, for tests of fail-over and deadlines.
enum class ssd_fault : std::uint32_t {
  none = 0,
  media_error,  ///< reads end with Unrecovered Read Error
  dead,         ///< every I/O ends with Internal Error
  silent,       ///< I/O is swallowed: no answer, ever
};

}  // namespace gnstor::fw
