#pragma once

#include <gnstor/simt/group.hpp>

#include <cstring>

namespace gnstor::simt {

/// Sixteen bytes that one lane loads or stores in one access.
struct alignas(16) word16 {
  std::uint32_t w[4];
};
static_assert(sizeof(word16) == 16);

/// Stores 16 bytes in one access: a WQE segment never appears half-written between two stores of
/// one lane.
GNSTOR_HD inline void store16(void* to, const word16& value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.w[0]),
               "r"(value.w[1]), "r"(value.w[2]), "r"(value.w[3])
               : "memory");
#else
  std::memcpy(to, &value, sizeof value);
#endif
}

/// The same towards memory that lanes may read meanwhile: an array's frames. They throw away what
/// they got too early, and load by atomic pieces; so ThreadSanitizer sees atomic stores here, too,
/// and reports a plain load beside them.
GNSTOR_HD inline void store16_to_frame(void* to, const word16& value) {
#if defined(__SANITIZE_THREAD__)
  std::uint64_t half[2];
  std::memcpy(half, &value, sizeof value);
  auto* const out = static_cast<std::uint64_t*>(to);
  __atomic_store_n(out, half[0], __ATOMIC_RELAXED);
  __atomic_store_n(out + 1, half[1], __ATOMIC_RELAXED);
#else
  store16(to, value);
#endif
}

/// Loads 16 bytes in one access, past the first-level cache.
GNSTOR_HD inline word16 load16(const void* from) {
  word16 v;
#if defined(__CUDA_ARCH__)
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])
               : "l"(from)
               : "memory");
#else
  std::memcpy(&v, from, sizeof v);
#endif
  return v;
}

/// `load16` where `wanted`, else zeroes: without a branch, so that no other load waits for it.
GNSTOR_HD inline word16 load16_if(bool wanted, const void* from) {
  word16 v{};
#if defined(__CUDA_ARCH__)
  asm volatile(
      "{\n.reg .pred wanted;\nsetp.ne.u32 wanted, %5, 0;\n"
      "@wanted ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
      : "+r"(v.w[0]), "+r"(v.w[1]), "+r"(v.w[2]), "+r"(v.w[3])
      : "l"(from), "r"(std::uint32_t{wanted})
      : "memory");
#else
  if (wanted) v = load16(from);
#endif
  return v;
}
/// `store16` where `wanted`, likewise.
GNSTOR_HD inline void store16_if(bool wanted, void* to, const word16& value) {
#if defined(__CUDA_ARCH__)
  asm volatile(
      "{\n.reg .pred wanted;\nsetp.ne.u32 wanted, %5, 0;\n"
      "@wanted st.global.v4.u32 [%0], {%1, %2, %3, %4};\n}" ::"l"(to),
      "r"(value.w[0]), "r"(value.w[1]), "r"(value.w[2]), "r"(value.w[3]), "r"(std::uint32_t{wanted})
      : "memory");
#else
  if (wanted) store16(to, value);
#endif
}

/// Copies `bytes` (a multiple of 16; both ends 16-byte aligned) with all lanes of `g`, eight loads
/// in flight per lane.
/// @par Callers every lane of `g`, converged
/// @par Order plain loads and stores: the caller orders them (`g.sync()`, then a release)
template <warp_group G>
GNSTOR_HD inline void copy(const G& g, void* to, const void* from, std::uint64_t bytes) {
  auto* out = static_cast<char*>(to);
  auto* in = static_cast<const char*>(from);
#if defined(__CUDA_ARCH__)
  constexpr int in_flight = 8;
  const std::uint64_t step = std::uint64_t{16} * g.size();
  std::uint64_t at = std::uint64_t{16} * g.thread_rank();
  for (; at + (in_flight - 1) * step < bytes; at += in_flight * step) {
    word16 v[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) v[k] = load16(in + at + k * step);
#pragma unroll
    for (int k = 0; k < in_flight; ++k) store16(out + at + k * step, v[k]);
  }
  for (; at < bytes; at += step) store16(out + at, load16(in + at));
#else
  if (current_hook == nullptr || !current_hook->fine_payload) {
    // One memcpy per lane over its contiguous share: the same bytes, at the speed of the host's own
    // copy.
    const std::uint64_t units = bytes / 16;
    const std::uint64_t first = units * g.thread_rank() / g.size();
    const std::uint64_t last = units * (g.thread_rank() + 1) / g.size();
    if (first != last) std::memcpy(out + first * 16, in + first * 16, (last - first) * 16);
    return;
  }
  for (std::uint64_t at = std::uint64_t{16} * g.thread_rank(); at < bytes;
       at += std::uint64_t{16} * g.size()) {
    current_hook->point("copy");
    std::memcpy(out + at, in + at, 16);
  }
#endif
}

/// The same towards memory that lanes may read meanwhile: as `store16_to_frame`.
/// @par Callers every lane of `g`, converged
/// @par Order as `copy`
template <warp_group G>
GNSTOR_HD inline void copy_to_frame(const G& g, void* to, const void* from, std::uint64_t bytes) {
#if defined(__SANITIZE_THREAD__)
  if (current_hook == nullptr || !current_hook->fine_payload) {
    auto* out = static_cast<char*>(to);
    auto* in = static_cast<const char*>(from);
    for (std::uint64_t at = std::uint64_t{16} * g.thread_rank(); at < bytes;
         at += std::uint64_t{16} * g.size())
      store16_to_frame(out + at, load16(in + at));
    return;
  }
#endif
  copy(g, to, from, bytes);
}

}  // namespace gnstor::simt
