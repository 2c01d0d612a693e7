#include "connection_limits.hpp"

#include <algorithm>

namespace gnstor::serve {

const char* connection_limits::refusal(std::span<const known_connection> there,
                                       std::string_view peer, std::uint16_t qid) const {
  std::uint32_t new_ones = 0;
  std::uint32_t own = 0;
  std::uint32_t own_new = 0;
  std::uint32_t own_associations = 0;
  std::uint32_t own_io = 0;
  for (const known_connection& c : there) {
    const bool mine = c.peer == peer;
    const bool waits = c.qid == 0 && c.is == standing::stranger;
    new_ones += waits ? 1 : 0;
    own += mine ? 1 : 0;
    own_new += mine && waits ? 1 : 0;
    own_associations += mine && c.qid == 0 && c.is == standing::member ? 1 : 0;
    own_io += mine && c.qid != 0 ? 1 : 0;
  }
  if (there.size() >= all) return "there are as many connections as may be";
  if (own >= of_host) return "it has as many connections as one host may have";
  if (qid != 0) {
    return own_io < own_associations * io_queues ? nullptr
                                                 : "it has no association with room for a queue";
  }
  if (own_new >= strangers_of_host) return "too many of its connections wait for a Connect";
  if (new_ones >= strangers) return "too many connections wait for a Connect";
  return nullptr;
}

std::size_t connection_limits::staging_bytes(std::size_t connections, std::size_t taken,
                                             const memory& m) const {
  const std::size_t each = m.capsules + m.least;
  if (taken + each > memory_bytes) return 0;
  // Half of it is kept at most: where transfers are large, all cannot have their least.
  const std::size_t others = all > connections + 1 ? all - connections - 1 : 0;
  const std::size_t kept = std::min(others * each, memory_bytes / 2);
  return taken + kept + m.capsules + m.wanted <= memory_bytes ? m.wanted : m.least;
}

}  // namespace gnstor::serve
