#include "umem.hpp"

#include <gnstor/host/error.hpp>
#include <gnstor/qp/mlx5_queue_memory.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace gnstor::host::mlx5 {

umem::umem(ibv_context* on, const home_memory& memory) {
  int dmabuf_error = 0;
  if (const auto exported = memory.home().export_dmabuf(memory.data(), memory.bytes())) {
    mlx5dv_devx_umem_in in{};
    in.addr = nullptr;  // with a dma-buf, the offset within it
    in.size = memory.bytes();
    in.access = IBV_ACCESS_LOCAL_WRITE;
    in.pgsz_bitmap = mlx5_ring_alignment;
    in.comp_mask = MLX5DV_UMEM_MASK_DMABUF;
    in.dmabuf_fd = exported->get();
    umem_ = mlx5dv_devx_umem_reg_ex(on, &in);
    if (umem_ != nullptr) return;
    dmabuf_error = errno;
  }
  umem_ = mlx5dv_devx_umem_reg(on, memory.data(), memory.bytes(), IBV_ACCESS_LOCAL_WRITE);
  if (umem_ != nullptr) return;
  const int plain_error = errno;
  throw error(fmt::format(
      "registering queue memory ({}, {} bytes) with {}: {}{}; load nvidia-peermem, or use Linux "
      "6.1 "
      "and the open NVIDIA kernel modules for dma-buf, or raise memlock (ulimit -l unlimited)",
      memory.home().name(), memory.bytes(), ibv_get_device_name(on->device),
      std::strerror(plain_error),
      dmabuf_error != 0 ? fmt::format(" (through a dma-buf: {})", std::strerror(dmabuf_error))
                        : std::string()));
}

umem::umem(umem&& other) noexcept : umem_(std::exchange(other.umem_, nullptr)) {}

umem& umem::operator=(umem&& other) noexcept {
  std::swap(umem_, other.umem_);
  return *this;
}

umem::~umem() {
  if (umem_ != nullptr) (void)mlx5dv_devx_umem_dereg(umem_);
}

}  // namespace gnstor::host::mlx5
