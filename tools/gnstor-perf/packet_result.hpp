#pragma once

#include <gnstor/core/latency_histogram.hpp>
#include <gnstor/host/nic_statistics.hpp>
#include <gnstor/packet/packet_counters.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace gnstor::tools {

/// What a run of `gnstor-perf packets` found.
struct packet_result {
  packet_counters counts{};  ///< of all flows
  std::vector<host::nic_statistics> ports;
  std::uint64_t elapsed_ns = 0;
  latency_histogram transits{};  ///< from a wire to a wire, where the NIC measures it
  // Of the numbered frames that came, where kernels compared them:
  std::uint64_t sound = 0;
  std::uint64_t unsound = 0;
  std::uint64_t foreign = 0;
  std::uint64_t missing = 0;  ///< of those that were given, or below the highest number
  std::uint64_t reordered = 0;
  bool is_checked = false;         ///< each frame that went the whole way was compared
  std::string wrong;               ///< what the comparison found
  std::vector<std::string> notes;  ///< how the NIC is reached

  double seconds() const { return static_cast<double>(elapsed_ns) / 1e9; }
  std::uint64_t count(packet_cause cause) const {
    return counts.words[static_cast<std::size_t>(cause)];
  }
};

}  // namespace gnstor::tools
