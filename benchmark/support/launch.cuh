#pragma once

#include "cuda_check.cuh"
#include <gnstor/simt/cuda_executor.cuh>

#include <vector>

namespace gnstor::benchmarks {

/// Every kernel of this program that `launch` may start or that was listed by hand.
inline std::vector<const void*>& kernels() {
  static std::vector<const void*> all;
  return all;
}

/// Loads every kernel for the current device: one that is loaded lazily waits for the array node's,
/// which never ends.
inline void load_kernels() {
  cudaFuncAttributes loaded;
  for (const void* one : kernels())
    cuda_check(cudaFuncGetAttributes(&loaded, one), "loading a kernel");
}

/// Enters a kernel in the list before `main`.
template <class Functor, class... Args>
struct listed_kernel {
  static inline const bool listed = [] {
    kernels().push_back(reinterpret_cast<const void*>(&gnstor::detail::entry<Functor, Args...>));
    return true;
  }();
};

struct grid {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 1;
  cudaStream_t stream = nullptr;
};

template <class Functor, class... Args>
void launch(const grid& g, const Functor& functor, const Args&... args) {
  (void)listed_kernel<Functor, Args...>::listed;
  gnstor::detail::entry<<<g.blocks, g.threads, 0, g.stream>>>(functor, args...);
  cuda_check(cudaGetLastError(), "launch");
}

}  // namespace gnstor::benchmarks
