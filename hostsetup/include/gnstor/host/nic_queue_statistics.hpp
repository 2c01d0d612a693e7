#pragma once

#include <cstdint>

namespace gnstor::host {

/// What one ring pair of a NIC's port has counted.
struct nic_queue_statistics {
  std::uint64_t delivered = 0;  ///< frames written to its receive ring
  std::uint64_t missed = 0;     ///< for want of a descriptor, or while nobody had the ring open
  std::uint64_t sent = 0;       ///< frames that went by its transmit ring
};

}  // namespace gnstor::host
