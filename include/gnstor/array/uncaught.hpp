#pragma once
/// Whether a lane leaves a scope alone.

#include <gnstor/core/config.hpp>

#include <exception>

namespace gnstor::detail {

/// Exceptions of this lane that nobody has caught: more at the end of a scope than at its begin if
/// one ends the lane in the host runtime. It leaves alone then: nobody would meet it.
GNSTOR_HD inline int uncaught() {
#if defined(__CUDA_ARCH__)
  return 0;
#else
  return std::uncaught_exceptions();
#endif
}

}  // namespace gnstor::detail
