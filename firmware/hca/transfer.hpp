#pragma once

#include <gnstor/simt/copy.hpp>

namespace gnstor::fw {

/// Moves any number of bytes at any alignment with all lanes of `g`: 16 bytes per step where both
/// ends allow it.
/// @par Callers every lane of `g`, converged
GNSTOR_HD inline void transfer(const simt::group& g, void* to, const void* from,
                               std::uint64_t bytes) {
  const auto skew =
      (reinterpret_cast<std::uint64_t>(to) | reinterpret_cast<std::uint64_t>(from)) % 16;
  const std::uint64_t wide = skew == 0 ? bytes / 16 * 16 : 0;
  simt::copy(g, to, from, wide);
  auto* out = static_cast<unsigned char*>(to);
  auto* in = static_cast<const unsigned char*>(from);
  for (std::uint64_t k = wide + g.thread_rank(); k < bytes; k += g.size()) out[k] = in[k];
}

/// The same into memory of a client, where lanes may read an array's frame meanwhile.
/// @par Callers every lane of `g`, converged
GNSTOR_HD inline void deliver(const simt::group& g, void* to, const void* from,
                              std::uint64_t bytes) {
#if defined(__SANITIZE_THREAD__)
  const auto skew =
      (reinterpret_cast<std::uint64_t>(to) | reinterpret_cast<std::uint64_t>(from)) % 16;
  if (skew == 0 && bytes % 16 == 0) {
    simt::copy_to_frame(g, to, from, bytes);
    return;
  }
#endif
  transfer(g, to, from, bytes);
}

/// What `deliver_together` moves by one access of each lane.
constexpr std::uint32_t together_bytes = 512;

/// Moves `bytes` from `from` to `to` for each of the first `count` lanes, which have a pair each:
/// lane by lane, but with the loads of several pairs under way at once. As `deliver`.
/// @par Callers every lane of `g`, a whole warp, converged, with the same `count` and `bytes`: a
/// multiple of `together_bytes`, all pointers 16-byte aligned
GNSTOR_HD inline void deliver_together(const simt::group& g, std::uint32_t count, unsigned char* to,
                                       const unsigned char* from, std::uint32_t bytes) {
  const auto shared = [&g](auto* mine, std::uint32_t lane) {
    const auto address = reinterpret_cast<std::uint64_t>(mine);
    return reinterpret_cast<decltype(mine)>(g.shfl(address, static_cast<int>(lane)));
  };
#if defined(__CUDA_ARCH__)
  constexpr std::uint32_t in_flight = 16;
  const std::uint32_t mine = 16 * g.thread_rank();
  const std::uint32_t pieces = count * (bytes / together_bytes);
  std::uint32_t lane = 0;
  std::uint32_t at = 0;
  for (std::uint32_t done = 0; done < pieces; done += in_flight) {
    simt::word16 v[in_flight];
    unsigned char* out[in_flight];
    // Without a branch, so that no load waits for another.
#pragma unroll
    for (std::uint32_t k = 0; k < in_flight; ++k) {
      v[k] = simt::load16_if(done + k < pieces, shared(from, lane) + at + mine);
      out[k] = shared(to, lane) + at + mine;
      const bool next = at + together_bytes == bytes;
      at = next ? 0 : at + together_bytes;
      lane += next ? 1 : 0;
    }
#pragma unroll
    for (std::uint32_t k = 0; k < in_flight; ++k) simt::store16_if(done + k < pieces, out[k], v[k]);
  }
#else
  for (std::uint32_t k = 0; k < count; ++k) deliver(g, shared(to, k), shared(from, k), bytes);
#endif
}

}  // namespace gnstor::fw
