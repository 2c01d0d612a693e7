#pragma once

#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::simt {

/// Loads two neighbouring shared words, each as by a relaxed load of device scope, with one
/// instruction: lanes that look in many places at once take half as long.
/// @param from aligned to 16 bytes
GNSTOR_HD inline void load_pair(std::uint64_t* from, std::uint64_t* to) {
#if defined(__CUDA_ARCH__)
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(to[0]), "=l"(to[1])
               : "l"(from)
               : "memory");
#else
  for (int k = 0; k < 2; ++k)
    to[k] = atomic_ref<std::uint64_t, thread_scope_device>(from[k]).load(relaxed);
#endif
}

}  // namespace gnstor::simt
