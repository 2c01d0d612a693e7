#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gnstor::host {

/// A block device or a file that Linux reads and writes for this process, or several:
/// `disk:PATH[,PATH...]?name=value`.
///
/// `session` opens it like an array: it is one volume, whose queues kernels drive, served by CPU
/// threads with io_uring. docs/endpoints.md shows the options.
struct disk_endpoint {
  /// Of devices, partitions or files: 1 to 16, each another one. The volume is striped over all of
  /// them, in this order.
  std::vector<std::string> paths;
  bool read_only = false;        ///< writes are refused; the devices may be mounted
  bool scratch = false;          ///< `create_volume` takes the volume, whatever is on it
  std::uint32_t queues = 65535;  ///< I/O queues at most: one for this CPU, the rest channels
  std::uint32_t threads = 1;     ///< that serve those of each disk
  std::uint32_t stripe_bytes = 128 << 10;  ///< of several disks: a multiple of 4096
  static constexpr std::size_t max_disks = 16;

  static constexpr std::string_view scheme = "disk:";
};

}  // namespace gnstor::host
