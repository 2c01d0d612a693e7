#pragma once

#include <nvme_pcie/dma_mapping.hpp>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace gnstor::host {

/// The DMA addresses that an emulated controller has given out, each for a piece of memory. Any
/// thread.
class dma_windows {
 public:
  /// Makes a window known to whoever serves the queues; of no bytes: it is gone.
  using publish = std::function<void(std::uint32_t window, const fw::dma_mapping&)>;

  /// @param name what messages call the controller
  dma_windows(std::string name, publish tell);

  /// Returns the DMA address of memory. Throws `error` with the limit that was hit.
  /// @param host_reaches this CPU may use it
  std::uint64_t map(void* memory, std::uint64_t bytes, bool host_reaches);
  /// Ends that; an address that is none is left alone.
  void unmap(std::uint64_t address);
  /// Memory that this CPU may use, by its DMA address; null if it is not mapped, or a GPU's.
  unsigned char* host_memory(std::uint64_t address, std::uint64_t bytes);

 private:
  struct window {
    fw::dma_mapping mapping;
    bool host_reaches = false;
  };

  std::string name_;
  publish tell_;
  std::mutex use_;
  std::vector<window> windows_;
};

}  // namespace gnstor::host
