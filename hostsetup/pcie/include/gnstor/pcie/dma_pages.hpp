#pragma once

#include <gnstor/pcie/pcie_device.hpp>

#include <utility>

namespace gnstor::host::pcie {

/// Zero-filled pages of this host that a device reaches. Move-only owner; the device outlives it.
class dma_pages {
 public:
  dma_pages() = default;
  dma_pages(pcie_device& device, std::size_t bytes)
      : device_(&device),
        memory_(device.allocate(bytes)),
        address_(device.map(memory_.data(), bytes)) {}
  dma_pages(dma_pages&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)),
        memory_(std::move(other.memory_)),
        address_(other.address_) {}
  dma_pages& operator=(dma_pages&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(memory_, other.memory_);
    std::swap(address_, other.address_);
    return *this;
  }
  ~dma_pages() {
    if (device_ != nullptr) device_->unmap(address_);
  }

  unsigned char* data() const { return static_cast<unsigned char*>(memory_.data()); }
  /// As the device knows it.
  std::uint64_t address() const { return address_; }

 private:
  pcie_device* device_ = nullptr;
  memory_block memory_;
  std::uint64_t address_ = 0;
};

}  // namespace gnstor::host::pcie
