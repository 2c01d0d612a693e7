#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// Memory that a PCIe device may reach: which of the lanes' addresses are which of the device's.
///
/// A region is one piece of the device's address space, as behind an IOMMU; or pieces of
/// 2^`granule_shift` bytes, each anywhere, whose addresses stand in a table: from the granule that
/// `base` lies in on.
struct dma_region {
  std::uint64_t base = 0;   ///< as lanes know it
  std::uint64_t bytes = 0;  ///< 0: there is none
  std::uint64_t dma = 0;    ///< the device's address of `base`; or of lanes, of the table
  std::uint32_t key = 0;    ///< of buffers that lie in it: its index, and a generation above
  std::uint32_t granule_shift = 0;  ///< 12 on; 0: one piece

  /// The index of the region with this key.
  GNSTOR_HD static constexpr std::uint32_t index_of(std::uint32_t key) { return key & 0xff; }
  static constexpr std::uint32_t most = 256;  ///< regions of a device

  /// True if the key opens `length` bytes at `address`.
  GNSTOR_HD constexpr bool opens(std::uint32_t by, std::uint64_t address,
                                 std::uint64_t length) const {
    const std::uint64_t offset = address - base;
    return by == key && offset <= bytes && length <= bytes - offset;
  }
  /// The device's address of `address`, which lies in the region. What follows is contiguous up to
  /// the end of its page, and of its granule.
  GNSTOR_HD std::uint64_t translate(std::uint64_t address) const {
    if (granule_shift == 0) return dma + (address - base);
    const std::uint64_t within = (std::uint64_t{1} << granule_shift) - 1;
    const std::uint64_t granule = (address >> granule_shift) - (base >> granule_shift);
    return reinterpret_cast<const std::uint64_t*>(dma)[granule] + (address & within);
  }
};

static_assert(sizeof(dma_region) == 32 && std::is_trivially_copyable_v<dma_region>);

}  // namespace gnstor::inline v0
