#pragma once

#include <gnstor/host/machine.hpp>

#include <cstdint>

namespace support {

/// How many threads a kernel has.
struct kernel_shape {
  static constexpr bool on_gpu = gnstor::host::this_machine == gnstor::host::machine::gpu;

  std::uint32_t grid = on_gpu ? 528 : 4;  ///< blocks
  std::uint32_t block = 128;              ///< threads of a block, whole warps
};

}  // namespace support
