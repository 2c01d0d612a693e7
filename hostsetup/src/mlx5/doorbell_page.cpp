#include "doorbell_page.hpp"

#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace gnstor::host::mlx5 {
namespace {

/// A page that no other queue of the process shares; rdma-core's headers name it from v48 on.
constexpr std::uint32_t dedicated = 1u << 31;

}  // namespace

doorbell_page::doorbell_page(ibv_context* on, std::shared_ptr<memory_home> home,
                             std::size_t blue_flame_bytes)
    : home_(std::move(home)) {
  std::size_t bytes = sizeof(std::uint64_t);
  for (const std::uint32_t kind : {dedicated, std::uint32_t{MLX5DV_UAR_ALLOC_TYPE_NC},
                                   std::uint32_t{MLX5DV_UAR_ALLOC_TYPE_BF}}) {
    if (kind == MLX5DV_UAR_ALLOC_TYPE_BF) bytes = std::max(bytes, blue_flame_bytes);
    page_ = mlx5dv_devx_alloc_uar(on, kind);
    if (page_ != nullptr) break;
  }
  if (page_ == nullptr) {
    throw error(fmt::format(
        "allocating a doorbell page on {}: {}; close other users of the NIC, or use the "
        "proxy",
        ibv_get_device_name(on->device), std::strerror(errno)));
  }
  try {
    mapped_ = home_->map_register(page_->reg_addr, bytes);
  } catch (...) {
    mlx5dv_devx_free_uar(page_);
    throw;
  }
}

doorbell_page::doorbell_page(doorbell_page&& other) noexcept
    : home_(std::move(other.home_)),
      page_(std::exchange(other.page_, nullptr)),
      mapped_(other.mapped_) {}

doorbell_page& doorbell_page::operator=(doorbell_page&& other) noexcept {
  std::swap(home_, other.home_);
  std::swap(page_, other.page_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

doorbell_page::~doorbell_page() {
  if (page_ == nullptr) return;
  home_->unmap_register(page_->reg_addr);
  mlx5dv_devx_free_uar(page_);
}

}  // namespace gnstor::host::mlx5
