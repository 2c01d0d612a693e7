#pragma once

#include <gnstor/core/status.hpp>

namespace gnstor::inline v0 {

/// What a callback is passed about the operation that ended.
struct io_event {
  status outcome{};            ///< as the synchronous call would have returned it
  std::uint64_t argument = 0;  ///< the word that was given when the operation began
};

}  // namespace gnstor::inline v0
