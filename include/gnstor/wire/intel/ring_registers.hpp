#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::intel {

/// Where a controller has the registers of one ring, in bytes from the beginning of its BAR 0.
struct ring_registers {
  std::uint32_t base_low;
  std::uint32_t base_high;
  std::uint32_t bytes;    ///< of the ring: a multiple of 128
  std::uint32_t head;     ///< the NIC's
  std::uint32_t tail;     ///< the driver's: one 32-bit store gives descriptors to the NIC
  std::uint32_t control;  ///< with the bit below
  std::uint32_t enable;   ///< a mask: set before the tail is written

  /// Those of a ring whose base register is at `offset`, in all controllers.
  GNSTOR_HD static constexpr ring_registers at(std::uint32_t offset, std::uint32_t control,
                                               std::uint32_t enable) {
    return {offset, offset + 4, offset + 8, offset + 0x10, offset + 0x18, control, enable};
  }
};

static_assert(std::is_trivially_copyable_v<ring_registers>);

}  // namespace gnstor::wire::intel
