#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gnstor::host::files {

/// Where the bytes of a device come from: a file, a block device, or what another driver reads for
/// us. The readers of file systems see nothing else of a device, and never write.
class block_source {
 public:
  block_source() = default;
  block_source(const block_source&) = delete;
  block_source& operator=(const block_source&) = delete;
  virtual ~block_source() = default;

  /// What messages call it: "/dev/nvme0n1".
  virtual std::string name() const = 0;
  /// How many bytes it has.
  virtual std::uint64_t bytes() const = 0;
  /// Reads `to.size()` bytes from byte `offset` on; any alignment. Throws `error` if not all of
  /// them can be had.
  virtual void read(std::uint64_t offset, std::span<std::byte> to) = 0;
};

}  // namespace gnstor::host::files
