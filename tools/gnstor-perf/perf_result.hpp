#pragma once

#include <gnstor/core/latency_histogram.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace gnstor::tools {

/// What a run of gnstor-perf found.
struct perf_result {
  /// Of the reads, or of the writes.
  struct direction {
    std::uint64_t ios = 0;
    std::uint64_t latency_ns = 0;  ///< summed
    std::uint64_t least_ns = 0;
    std::uint64_t most_ns = 0;
    latency_histogram latencies{};

    double mean_ns() const {
      return ios == 0 ? 0 : static_cast<double>(latency_ns) / static_cast<double>(ios);
    }
  };

  direction read;
  direction write;
  std::uint64_t elapsed_ns = 0;  ///< from the first lane's begin to the last one's end
  std::uint64_t failed = 0;
  std::string first_failure;
  std::uint64_t wrong = 0;  ///< units that were not as they were written
  std::uint64_t first_wrong = 0;
  std::uint32_t place_bytes = 0;
  bool compared = false;           ///< what was read had stamps
  std::vector<std::string> notes;  ///< how the storage is reached

  double seconds() const { return static_cast<double>(elapsed_ns) / 1e9; }
  double rate(const direction& d) const {
    return elapsed_ns == 0 ? 0 : static_cast<double>(d.ios) / seconds();
  }
};

}  // namespace gnstor::tools
