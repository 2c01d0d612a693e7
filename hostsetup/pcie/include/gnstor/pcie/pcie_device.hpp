#pragma once

#include <gnstor/host/error.hpp>
#include <gnstor/host/memory_block.hpp>

#include <cstdint>
#include <vector>

namespace gnstor::host::pcie {

/// A function on this machine's PCIe bus, as a driver in user space sees it: the registers of its
/// first BAR, and the memory that it may reach.
class pcie_device {
 public:
  pcie_device() = default;
  pcie_device(const pcie_device&) = delete;
  pcie_device& operator=(const pcie_device&) = delete;
  virtual ~pcie_device() = default;

  /// Reads and writes a register of 4 or 8 bytes. One that is gone reads all ones.
  virtual std::uint64_t read(std::uint64_t offset, std::uint32_t bytes) = 0;
  virtual void write(std::uint64_t offset, std::uint64_t value, std::uint32_t bytes) = 0;

  /// Zero-filled memory of this CPU that may be mapped; up to `contiguous_bytes()` of it by `map`.
  virtual memory_block allocate(std::size_t bytes) { return memory_block(place::host, bytes); }
  /// The largest piece that `map` takes wherever it lies.
  virtual std::uint64_t contiguous_bytes() const { return ~std::uint64_t{0}; }

  /// Lets the device read and write memory; returns its DMA address there. Contiguous.
  /// Throws `error` with the limit that was hit.
  virtual std::uint64_t map(void* memory, std::uint64_t bytes) = 0;
  /// Ends that. Nothing of the memory may be under way.
  virtual void unmap(std::uint64_t address) noexcept = 0;

  /// Not 0: memory has an address for each granule of 2^this bytes instead, by `map_granules`.
  virtual std::uint32_t granule_shift() const { return 0; }
  /// Lets the device read and write memory, whose granules may lie anywhere: the DMA address of
  /// each, from that of the first byte on. It stays so until the memory is freed.
  /// Throws `error` with the reason.
  virtual std::vector<std::uint64_t> map_granules(void* memory, std::uint64_t bytes) {
    return {map(memory, bytes)};
  }

  std::uint32_t read32(std::uint64_t offset) { return static_cast<std::uint32_t>(read(offset, 4)); }
  std::uint64_t read64(std::uint64_t offset) { return read(offset, 8); }
  void write32(std::uint64_t offset, std::uint32_t value) { write(offset, value, 4); }
  void write64(std::uint64_t offset, std::uint64_t value) { write(offset, value, 8); }
};

}  // namespace gnstor::host::pcie
