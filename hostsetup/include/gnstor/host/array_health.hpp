#pragma once

#include <cstdint>

namespace gnstor::host {

/// How an array is, as its manager says.
struct array_health {
  bool settled = false;        ///< false: a take-over, or a change of the epoch, is under way
  std::uint32_t volumes = 0;   ///< of all hosts
  std::uint32_t degraded = 0;  ///< of these: with fewer replicas in sync than they should have
  std::uint32_t torn = 0;      ///< of these: with blocks that have no replica in sync
  /// Of volumes: what repairs that are under way, or wait, have looked at, and are to look at.
  std::uint64_t repaired_bytes = 0;
  std::uint64_t to_repair_bytes = 0;

  /// True if another SSD may fail, and nothing is lost or stands still.
  bool is_whole() const { return settled && degraded == 0 && torn == 0; }
};

}  // namespace gnstor::host
