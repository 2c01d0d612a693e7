#pragma once

#include "memory_home.hpp"
#include "verbs/memory_region.hpp"

namespace gnstor::host::mlx5 {

/// A piece of memory of a home.
struct memory_span {
  void* address = nullptr;
  std::size_t bytes = 0;
};

/// Registers memory of a home with any RDMA device: through a dma-buf where there is one and the
/// kernel takes it, else by address. Throws `error` that names both ways.
verbs::memory_region register_home_memory(const verbs::protection_domain& domain, memory_home& home,
                                          memory_span memory, verbs::region_access access);

}  // namespace gnstor::host::mlx5
