#pragma once
/// A target that streams reads from flash to the wire, in virtual time.

#include <timing/stream_profile.hpp>

#include <vector>

namespace gnstor::fw {

/// What became of a run. Phases as in the seed's 3.2: means of a request, in picoseconds.
struct stream_result {
  std::uint64_t elapsed = 0;
  std::uint64_t requests = 0;
  std::uint64_t wrong_bytes = 0;  ///< that went out before they were valid
  std::uint64_t init = 0;
  std::uint64_t read = 0;
  std::uint64_t send_init = 0;
  std::uint64_t send = 0;  ///< all data is there, and some has not gone out
  std::uint64_t fin = 0;
  std::vector<std::uint64_t> took;  ///< by each request, in the order in which they began

  double mib_per_second(std::uint32_t request_bytes) const {
    return static_cast<double>(requests) * request_bytes / (1 << 20) /
           (static_cast<double>(elapsed) / 1e12);
  }
};

/// Streams `requests` reads through a target in virtual time. Data is real: each packet is compared
/// with what the flash holds when it leaves.
stream_result stream(const stream_profile& p, std::uint32_t requests);

/// The least time that one request can take with synchronised sends: access, the first chunk's way
/// into the NIC, and the longer of reading and sending all of it.
std::uint64_t stream_bound(const stream_profile& p);

}  // namespace gnstor::fw
