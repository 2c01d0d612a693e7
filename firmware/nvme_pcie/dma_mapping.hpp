#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::fw {

/// What an emulated device reaches by DMA: a window of its address space and the memory behind it,
/// as an IOMMU maps it.
///
/// Window `k` begins at `k` << 40. Address 0 is in none: a pointer that nobody set faults.
struct dma_mapping {
  static constexpr std::uint32_t window_shift = 40;
  static constexpr std::uint32_t most = 256;  ///< windows, of which the first stays empty

  std::uint64_t memory = 0;
  std::uint64_t bytes = 0;  ///< 0: nothing is mapped here

  GNSTOR_HD static constexpr std::uint64_t address_of(std::uint32_t window) {
    return std::uint64_t{window} << window_shift;
  }
  GNSTOR_HD static constexpr std::uint64_t window_of(std::uint64_t address) {
    return address >> window_shift;
  }
  /// The memory of `length` bytes at `address`, in the window that this is; null if they are not
  /// all mapped.
  GNSTOR_HD unsigned char* find(std::uint64_t address, std::uint64_t length) const {
    const std::uint64_t offset = address & ((std::uint64_t{1} << window_shift) - 1);
    if (offset > bytes || length > bytes - offset) return nullptr;
    return reinterpret_cast<unsigned char*>(memory + offset);
  }
};

static_assert(sizeof(dma_mapping) == 16 && std::is_trivially_copyable_v<dma_mapping>);

}  // namespace gnstor::fw
