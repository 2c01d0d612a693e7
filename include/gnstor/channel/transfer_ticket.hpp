#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0 {

/// Names one transfer of a `memory_channel`, for good: no index of a send queue comes twice.
struct transfer_ticket {
  std::uint64_t index = 0;  ///< of the send queue
};

}  // namespace gnstor::inline v0
