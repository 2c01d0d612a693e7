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

}  // namespace gnstor::fw
