#include "dma_windows.hpp"

#include <gnstor/host/error.hpp>

#include <fmt/format.h>

namespace gnstor::host {

dma_windows::dma_windows(std::string name, publish tell)
    : name_(std::move(name)), tell_(std::move(tell)), windows_(fw::dma_mapping::most) {}

std::uint64_t dma_windows::map(void* memory, std::uint64_t bytes, bool host_reaches) {
  const std::lock_guard lock(use_);
  const std::uint64_t room = std::uint64_t{1} << fw::dma_mapping::window_shift;
  if (bytes == 0 || bytes > room - 4096)
    throw error(fmt::format("{}: {} bytes of memory do not fit a window of 1 TiB", name_, bytes));
  for (std::uint32_t k = 1; k < windows_.size(); ++k) {
    window& w = windows_[k];
    if (w.mapping.bytes != 0) continue;
    // Pages of the device are where the host's are: an address keeps its place in its page.
    const auto at = reinterpret_cast<std::uint64_t>(memory);
    const std::uint64_t skew = at % 4096;
    w.mapping = {at - skew, bytes + skew};
    w.host_reaches = host_reaches;
    tell_(k, w.mapping);
    return fw::dma_mapping::address_of(k) + skew;
  }
  throw error(fmt::format(
      "{}: all {} windows of its address space are in use: register fewer, larger regions", name_,
      windows_.size() - 1));
}

void dma_windows::unmap(std::uint64_t address) {
  const std::lock_guard lock(use_);
  const std::uint64_t k = fw::dma_mapping::window_of(address);
  if (k >= windows_.size()) return;
  windows_[k] = window{};
  tell_(static_cast<std::uint32_t>(k), windows_[k].mapping);
}

unsigned char* dma_windows::host_memory(std::uint64_t address, std::uint64_t bytes) {
  const std::lock_guard lock(use_);
  const std::uint64_t k = fw::dma_mapping::window_of(address);
  if (k >= windows_.size() || !windows_[k].host_reaches) return nullptr;
  return windows_[k].mapping.find(address, bytes);
}

}  // namespace gnstor::host
