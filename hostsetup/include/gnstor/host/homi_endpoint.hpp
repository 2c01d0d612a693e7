#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gnstor::host {

/// Queues of a local NVMe controller that `gnstor-homid` owns, and lends to many processes:
/// `homi:NAME?name=value&...`. docs/endpoints.md shows the options.
struct homi_endpoint {
  std::string name;              ///< of the daemon, or the path of its socket
  std::uint32_t nsid = 0;        ///< the one namespace that is a volume; 0: each of them
  bool scratch = false;          ///< `create_volume` takes namespaces, whatever is on them
  std::uint32_t queues = 65535;  ///< I/O queues wanted: one for this CPU, the rest channels

  static constexpr std::string_view scheme = "homi:";
};

}  // namespace gnstor::host
