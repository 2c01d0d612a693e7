#pragma once

#include "memory_home.hpp"

#include <infiniband/mlx5dv.h>

namespace gnstor::host::mlx5 {

/// Owns the registration of memory in which a NIC finds its rings and doorbell records, a "umem" of
/// DevX. Move-only; the memory outlives it.
///
/// Through a dma-buf where the home has one and the kernel takes it, else by address, which for GPU
/// memory needs nvidia-peermem.
class umem {
 public:
  /// Throws `error` that names both ways.
  umem(ibv_context* on, const home_memory& memory);
  umem(umem&& other) noexcept;
  umem& operator=(umem&& other) noexcept;
  ~umem();

  std::uint32_t id() const { return umem_->umem_id; }

 private:
  mlx5dv_devx_umem* umem_ = nullptr;
};

}  // namespace gnstor::host::mlx5
