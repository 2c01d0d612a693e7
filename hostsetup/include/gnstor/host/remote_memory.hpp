#pragma once

#include <gnstor/channel/channel_set.hpp>
#include <gnstor/channel/remote_memory_channel.hpp>
#include <gnstor/core/duration.hpp>
#include <gnstor/host/machine.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/host/memory_endpoint.hpp>
#include <gnstor/memory/io_buffer.hpp>
#include <gnstor/memory/remote_region.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gnstor::simt::host {
class executor;
}
namespace gnstor::simt::cuda {
class executor;
}

namespace gnstor::host {

class memory_link;

/// How remote memory is reached.
struct remote_memory_options {
  machine client = this_machine;            ///< where the kernels that use it run
  int device = 0;                           ///< their GPU
  std::uint32_t channels = usual_channels;  ///< for kernels, 1 to 64
  std::uint32_t depth = 64;  ///< transfers under way per channel, a power of two to 1024
  duration timeout = std::chrono::seconds(10);  ///< of connecting, and of `read` and `write`
};

/// Memory of a peer that kernels read and write by one-sided RDMA, for a `memory_array`: the peer's
/// CPU has no part in it. Move-only owner.
///
/// Everything it hands out is valid while it lives. A region that its server withdraws kills the
/// queue pairs that ask for it: transfers end with `transport_error` or `flushed`. `reset_channel`
/// brings a dead channel back, if the region is there still.
class remote_memory {
 public:
  /// Opens `emu-memory:?bytes=64M` or `memory://HOST[:PORT]/NAME`. Throws `input_error` for a bad
  /// endpoint or option, `error` with the remedy otherwise.
  explicit remote_memory(std::string_view endpoint, const remote_memory_options& options = {});
  remote_memory(remote_memory&&) noexcept;
  remote_memory& operator=(remote_memory&&) noexcept;
  ~remote_memory();

  std::uint64_t bytes() const { return region().bytes; }
  const remote_memory_options& options() const { return options_; }
  /// "the remote memory emu-memory:?bytes=64M", for messages.
  const std::string& name() const { return name_; }
  /// How it is reached, and what that means, a sentence each.
  std::vector<std::string> notes() const;

  /// The region, and the channels for kernels.
  remote_region region() const;
  channel_set<remote_memory_channel> channels() const;
  /// What became of channel `k`: the phase that its lanes see.
  channel_phase phase(std::uint32_t k) const;

  /// Brings channel `k` back to `ready`: a queue pair that a bad transfer or a lost connection has
  /// killed. Lanes see `flushed` and then `not_ready` meanwhile; transfers of the former life end
  /// with `reset` unless they were done. When this returns, nothing of them can happen any more.
  /// Kernels may use the channel meanwhile, but not where the NIC is emulated, as it runs beside
  /// kernels only. Frames that an array has given up stay so until it is opened again. Throws
  /// `io_error` if it takes longer than `timeout` (it may be tried again), `error` where the server
  /// does not answer, or exports another region by now.
  void reset_channel(std::uint32_t k, duration timeout = std::chrono::seconds(10));

  /// Moves bytes between this CPU's memory and the region. Throws `input_error` beyond its end,
  /// `io_error` otherwise.
  void write(std::uint64_t offset, const void* from, std::uint64_t count);
  void read(std::uint64_t offset, void* to, std::uint64_t count);

  /// Memory that kernels and the NIC reach, for `register_memory`. Throws `error`.
  memory_block allocate(std::size_t count);
  /// Lets the NIC read and write memory that kernels use. Returns it as a buffer with its keys.
  io_buffer register_memory(void* address, std::uint64_t count);
  /// Ends that. A transfer that was given up (`left_behind()`) may use the memory still.
  void unregister_memory(const io_buffer& buffer) noexcept;
  /// Where memory for kernels has to lie.
  place client_place() const;

  /// Adds to an executor what has to run beside its kernels: the emulated NIC, which ends with the
  /// executor's other grids. Otherwise nothing.
  void attach(simt::host::executor& executor) const;
  void attach(simt::cuda::executor& executor) const;

  /// Lets an emulated peer withdraw its region, for tests.
  void withdraw_region();

 private:
  remote_memory_options options_;
  std::string name_;
  std::unique_ptr<memory_link> link_;
};

}  // namespace gnstor::host
