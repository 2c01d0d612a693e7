#pragma once

#include <gnstor/host/memory_block.hpp>
#include <gnstor/pcie/pcie_device.hpp>
#include <gnstor/qp/nvme_pcie_doorbells.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gnstor::simt::host {
class executor;
}
namespace gnstor::simt::cuda {
class executor;
}

namespace gnstor::host::pcie {
class imported_memory;
}

namespace gnstor::host {

/// An NVMe controller of this machine as a session uses it: its registers, who reaches which
/// memory, and what has to run beside its users where it is emulated.
class nvme_device : public pcie::pcie_device {
 public:
  /// What messages call it.
  virtual std::string name() const = 0;
  /// Memory that this CPU and the device reach, and memory that kernels and the device reach.
  virtual place node_reach() const = 0;
  virtual place kernel_reach() const = 0;
  virtual memory_block allocate(place where, std::size_t bytes) = 0;
  /// Memory that is neither this CPU's nor mapped by `map`, such as a GPU's: attached for the
  /// device, its granules from that of `memory` on. Null for memory of this CPU. Throws `error`
  /// where the device cannot reach it.
  virtual std::unique_ptr<pcie::imported_memory> import(void* memory, std::uint64_t bytes);
  /// The doorbells of I/O queue `queue`, whose memory lies in `where`, for its lanes.
  virtual nvme_pcie_doorbells doorbells(std::uint16_t queue, place where) = 0;
  /// The doorbells of all queues as a file that other processes map.
  struct doorbell_file {
    int file = -1;
    std::uint64_t offset = 0;  ///< in the file, of what is to be mapped: a multiple of a page
    std::uint64_t bytes = 0;   ///< of that: whole pages
    std::uint64_t first = 0;   ///< in that, of queue 0's tail
    std::uint32_t stride_bytes = 4;
  };
  /// Throws `input_error` where other processes cannot map them.
  virtual doorbell_file shared_doorbells() const;
  /// Runs `work` on this CPU so that the device makes progress beside it.
  virtual void drive(const std::function<void()>& work) = 0;
  /// The same for this one and others of an endpoint together.
  virtual void drive_together(const std::function<void()>& work,
                              std::span<nvme_device* const> others);
  /// Adds to an executor what has to run beside its kernels, if anything.
  virtual void attach(simt::host::executor& executor) = 0;
  virtual void attach(simt::cuda::executor& executor) = 0;
  /// Makes a namespace faulty, or the whole device, for tests. Throws `input_error` where that
  /// cannot be done.
  virtual void inject_fault(std::uint32_t nsid, std::string_view fault) = 0;
  virtual std::vector<std::string> notes() const = 0;
};

}  // namespace gnstor::host
