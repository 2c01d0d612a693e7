#pragma once

#include <cstdint>
#include <string>

namespace gnstor::benchmarks {

/// An array, the session on it, and its filled volumes: what benchmarks share that run one after
/// another.
struct setup {
  std::string media = "host";   ///< where flash lies: host, hbm (both of the GPU that asks), or
                                ///< peer (in the HBM of a second GPU, which runs the node too)
  std::uint32_t channels = 32;  ///< of the session
  std::uint32_t ssds = 4;
  std::uint32_t capacity_mib = 1024;  ///< of an SSD
  std::uint32_t replicas = 2;
  std::uint32_t volumes = 1;
  std::uint32_t volume_blocks = 128 * 1024;  ///< of 4 KiB, a power of two
  bool checked = false;                      ///< reads are compared with their CRC

  bool operator==(const setup&) const = default;

  /// The share of all flash that the filled volumes take.
  double live_share() const {
    const double pages = 256.0 * capacity_mib * ssds;
    return 1.0 * volumes * volume_blocks * replicas / pages;
  }

  std::string endpoint() const {
    const std::string node = media == "peer" ? "&device=1&media=hbm" : "&media=" + media;
    const std::string size = "&ssds=" + std::to_string(ssds) +
                             "&replicas=" + std::to_string(replicas) +
                             "&capacity=" + std::to_string(capacity_mib) + "M";
    return "emu:?runner=gpu&shards=32" + size + node + (checked ? "&check_reads=yes" : "");
  }
};

}  // namespace gnstor::benchmarks
