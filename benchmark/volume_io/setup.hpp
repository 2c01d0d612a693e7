#pragma once

#include <cstdint>
#include <string>

namespace gnstor::benchmarks {

/// An array, the session on it, and its filled volumes: what benchmarks share that run one after
/// another.
struct setup {
  /// Where flash lies: host, hbm (both of the GPU that asks), files (in host memory, to which all
  /// that must survive is written through), or peer (in the HBM of a second GPU, which runs the
  /// node too).
  std::string media = "host";
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

  bool in_host_memory() const { return media == "host" || media == "files"; }
  /// @param folder of the files, if there are any
  std::string endpoint(const std::string& folder) const {
    const std::string node = media == "peer"    ? "&device=1&media=hbm"
                             : media == "files" ? "&flash=" + folder
                                                : "&media=" + media;
    const std::string size = "&ssds=" + std::to_string(ssds) +
                             "&replicas=" + std::to_string(replicas) +
                             "&capacity=" + std::to_string(capacity_mib) + "M";
    return "emu:?runner=gpu&shards=32" + size + node + (checked ? "&check_reads=yes" : "");
  }
};

}  // namespace gnstor::benchmarks
