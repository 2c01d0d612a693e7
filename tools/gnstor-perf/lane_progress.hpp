#pragma once

#include <cstdint>

namespace gnstor::tools {

/// What one lane has done so far. Its own, in a line of its own; the host may look meanwhile.
struct alignas(128) lane_progress {
  std::uint64_t done[2] = {};        ///< I/Os that went well: reads, writes
  std::uint64_t latency_ns[2] = {};  ///< summed
  std::uint64_t least_ns[2] = {};    ///< 0: none
  std::uint64_t most_ns[2] = {};
  std::uint64_t began_ns = 0;
  std::uint64_t ended_ns = 0;
  std::uint64_t failed = 0;
  std::uint64_t first_failure = 0;  ///< `status::pack()`
  std::uint64_t wrong = 0;          ///< units that were not as they were written
  std::uint64_t first_wrong = 0;    ///< byte of the volume
};

static_assert(sizeof(lane_progress) == 128);

}  // namespace gnstor::tools
