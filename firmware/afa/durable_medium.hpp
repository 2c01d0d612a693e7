#pragma once

#include <cstdint>

namespace gnstor::fw {

/// Flash of a node on CPUs that memory alone does not keep over a power cut of the host, such as a
/// mapped file.
///
/// A Flush and a write with FUA are handed to it when their work is done, so that nobody who serves
/// other commands waits for a disk.
class durable_medium {
 public:
  virtual ~durable_medium() = default;

  /// Makes all that SSD `ssd` holds by now outlive a power cut, then ends the command by
  /// `node::settled`, now or later, from whatever thread.
  virtual void settle(std::uint32_t ssd, std::uint32_t handle) = 0;
  /// The same for nobody's command: erase blocks of SSD `ssd` wait for it, and few are free.
  virtual void make_room(std::uint32_t ssd) = 0;
};

}  // namespace gnstor::fw
