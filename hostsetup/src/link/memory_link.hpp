#pragma once

#include <gnstor/channel/remote_memory_channel.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/memory/io_buffer.hpp>
#include <gnstor/memory/remote_region.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace gnstor::simt::host {
class executor;
}
namespace gnstor::simt::cuda {
class executor;
}

namespace gnstor::host {

/// How `remote_memory` reaches its peer: everything that differs between one in this process and
/// one behind a network. It owns the connections, the channels and the registrations.
class memory_link {
 public:
  memory_link() = default;
  memory_link(const memory_link&) = delete;
  memory_link& operator=(const memory_link&) = delete;
  virtual ~memory_link() = default;

  virtual remote_region region() const = 0;
  /// The channels, in memory that kernels reach.
  virtual const remote_memory_channel* channels() const = 0;
  virtual std::uint32_t channel_count() const = 0;
  /// The phase of channel `k`.
  virtual channel_phase phase(std::uint32_t k) const = 0;

  /// Where memory for kernels has to lie; memory there that can be registered.
  virtual place kernel_reach() const = 0;
  virtual memory_block allocate(std::size_t bytes) = 0;
  /// Throws `error` with the limit that was hit.
  virtual io_buffer register_memory(void* address, std::uint64_t bytes) = 0;
  virtual void unregister_memory(const io_buffer& buffer) noexcept = 0;

  /// Moves bytes between this CPU's memory and the region; they lie within it. Throws `io_error`.
  virtual void write(std::uint64_t offset, const void* from, std::uint64_t bytes) = 0;
  virtual void read(std::uint64_t offset, void* to, std::uint64_t bytes) = 0;

  /// Brings channel `k` back to `ready`, whatever state it is in. When this returns nothing of its
  /// earlier transfers can happen any more. Throws `io_error` if that takes longer than
  /// `timeout_ns` (it may be tried again).
  virtual void reset(std::uint32_t k, std::uint64_t timeout_ns) = 0;

  /// Adds to an executor what has to run beside its kernels, if anything.
  virtual void attach(simt::host::executor& executor) = 0;
  virtual void attach(simt::cuda::executor& executor) = 0;

  /// How the peer is reached, a sentence each.
  virtual std::vector<std::string> notes() const = 0;
  /// Lets the peer withdraw its region, for tests. Throws `input_error` where that cannot be done.
  virtual void withdraw_region() = 0;
};

}  // namespace gnstor::host
