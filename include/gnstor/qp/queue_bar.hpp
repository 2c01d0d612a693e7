#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0 {

/// Where a queue pair stopped handing out send indices, and where it is to go on.
struct queue_bar {
  std::uint64_t end = 0;   ///< every index before it was handed out in the life that ends
  std::uint64_t next = 0;  ///< the first index of the next life
};

}  // namespace gnstor::inline v0
