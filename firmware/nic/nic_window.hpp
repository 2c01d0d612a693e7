#pragma once

#include <gnstor/simt/atomic_ref.hpp>

#include <type_traits>

namespace gnstor::fw {

/// Memory that a NIC reaches by DMA, and what it calls it.
///
/// Bus addresses are not the CPU's: a driver that gives the NIC a pointer is found out.
struct nic_window {
  static constexpr std::uint32_t most = 256;
  static constexpr std::uint32_t shift = 40;  ///< window k begins at `address_of(k)`

  std::uint64_t address = 0;  ///< on the bus
  std::uint64_t bytes = 0;    ///< 0: nothing is here
  unsigned char* memory = nullptr;

  GNSTOR_HD static constexpr std::uint64_t address_of(std::uint32_t k) {
    return std::uint64_t{k + 1} << shift;
  }
  /// The window that an address may be in; `most` or more: none.
  GNSTOR_HD static constexpr std::uint64_t index_of(std::uint64_t at) { return (at >> shift) - 1; }

  /// Opens the window, last of all by its length.
  GNSTOR_HD void open(std::uint64_t at, unsigned char* there, std::uint64_t length) {
    address = at;
    memory = there;
    // Paired with the acquire of `find`.
    system_word<std::uint64_t>(bytes).store(length, release);
  }
  /// The memory of `length` bytes at a bus address; null if not all of it is in this window.
  GNSTOR_HD unsigned char* find(std::uint64_t at, std::uint64_t length) {
    const std::uint64_t open = system_word<std::uint64_t>(bytes).load(acquire);
    if (open == 0 || at < address || at - address > open || length > open - (at - address))
      return nullptr;
    return memory + (at - address);
  }
};

static_assert(std::is_trivially_copyable_v<nic_window>);

}  // namespace gnstor::fw
