#pragma once

#include <gnstor/core/latency_histogram.hpp>
#include <gnstor/host/machine.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/host/nic_endpoint.hpp>
#include <gnstor/host/nic_statistics.hpp>
#include <gnstor/wire/ethernet/mac_address.hpp>

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

class nic_link;

/// How a NIC is used.
struct nic_options {
  machine client = this_machine;   ///< where the kernels that use it run
  int device = 0;                  ///< their GPU
  bool measures_transits = false;  ///< of an emulated NIC: see `nic::transits`
};

/// An Ethernet controller whose rings kernels drive, by a `packet_flow`. Move-only owner; flows
/// must not outlive it.
class nic {
 public:
  /// Opens `emu-nic:?ports=2`, `tap:tap0` or `eth://0000:02:00.0`. Throws `input_error` for a bad
  /// endpoint, `error` otherwise.
  explicit nic(std::string_view endpoint, const nic_options& options = {});
  nic(nic&&) noexcept;
  nic& operator=(nic&&) noexcept;
  ~nic();

  std::uint32_t ports() const;
  /// Ring pairs of each port. Receive-side scaling spreads what a port receives over all of its
  /// receive rings, which are all to be opened by flows before anything comes.
  std::uint32_t queues() const;
  /// The hardware address of a port: a controller's own, or one for each emulated port.
  wire::ethernet::mac_address address(std::uint32_t port) const;
  nic_statistics statistics(std::uint32_t port) const;
  /// How long frames that came in by a port took until they left by some port: of an emulated NIC
  /// that measures it. Empty elsewhere.
  latency_histogram transits(std::uint32_t port) const;
  /// Throws `error` unless every frame that a port was given came out of some port: once, in order,
  /// and as it came but for hardware addresses and time to live; and unless the frames of each
  /// `numbered_source`, of streams 8 to 135, left by one port likewise.
  void check() const;
  /// How it is run, a sentence each.
  std::vector<std::string> notes() const;

  /// Zeroed memory for what an application has beside its packets: on a GPU its own, which this CPU
  /// fills and reads by `memory_block::write` and `read`. Throws `error`.
  memory_block allocate(std::size_t bytes) const;

  /// Adds to an executor what has to run beside its kernels, if anything.
  void attach(simt::host::executor& executor) const;
  void attach(simt::cuda::executor& executor) const;

  /// For `packet_flow`.
  nic_link& link() const { return *link_; }

 private:
  std::unique_ptr<nic_link> link_;
};

}  // namespace gnstor::host
