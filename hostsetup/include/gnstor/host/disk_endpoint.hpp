#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gnstor::host {

/// A block device or a file that Linux reads and writes for this process: `disk:PATH?name=value`.
///
/// `session` opens it like an array: it is one volume, whose queues kernels drive, served by CPU
/// threads with io_uring. docs/endpoints.md shows the options.
struct disk_endpoint {
  std::string path;              ///< of the device, a partition, or a file
  bool read_only = false;        ///< writes are refused; the device may be mounted
  bool scratch = false;          ///< `create_volume` takes it, whatever is on it
  std::uint32_t queues = 65535;  ///< I/O queues at most: one for this CPU, the rest channels
  std::uint32_t threads = 1;     ///< that serve them

  static constexpr std::string_view scheme = "disk:";
};

}  // namespace gnstor::host
