#pragma once

#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::simt {

/// Writes a device's 8-byte doorbell register: one store that is neither torn, merged nor reordered
/// with other MMIO.
///
/// On the GPU `fence.acq_rel.sys` then `st.mmio.relaxed.sys.b64`; on the host a release store at
/// system scope. `reg` may also be ordinary memory that an emulated NIC polls.
/// @par Callers one lane
/// @par Order everything before it is visible to the device that sees the new value
GNSTOR_HD inline void mmio_store(std::uint64_t& reg, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("fence.acq_rel.sys;\n\tst.mmio.relaxed.sys.global.b64 [%0], %1;" ::"l"(&reg),
               "l"(value)
               : "memory");
#else
  system_word<std::uint64_t>(reg).store(value, release);
#endif
}

/// The same for a 4-byte register: an NVMe doorbell.
GNSTOR_HD inline void mmio_store(std::uint32_t& reg, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("fence.acq_rel.sys;\n\tst.mmio.relaxed.sys.global.b32 [%0], %1;" ::"l"(&reg),
               "r"(value)
               : "memory");
#else
  system_word<std::uint32_t>(reg).store(value, release);
#endif
}

}  // namespace gnstor::simt
