#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::simt {

/// Asks memory for the cache line at `address`, without waiting. A CPU's: the lanes of a warp wait
/// for memory together anyway.
GNSTOR_HD inline void prefetch([[maybe_unused]] const void* address) {
#if !defined(__CUDA_ARCH__)
  __builtin_prefetch(address);
  asm volatile("");  // GCC drops calls of functions that do nothing else
#endif
}

}  // namespace gnstor::simt
