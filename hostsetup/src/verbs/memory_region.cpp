#include "memory_region.hpp"

#include "words.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

namespace gnstor::host::verbs {
namespace {

int flags(region_access access) {
  return IBV_ACCESS_LOCAL_WRITE | (access.remote_read ? IBV_ACCESS_REMOTE_READ : 0) |
         (access.remote_write ? IBV_ACCESS_REMOTE_WRITE : 0);
}

}  // namespace

memory_region::memory_region(const protection_domain& domain, void* address, std::uint64_t bytes,
                             region_access access)
    : mr_(ibv_reg_mr(domain.get(), address, bytes, flags(access))),
      address_(reinterpret_cast<std::uint64_t>(address)),
      bytes_(bytes) {
  if (mr_ == nullptr) {
    const int why = errno;
    throw call_error(
        fmt::format("registering {} bytes with {}{}", bytes, domain.device().name(),
                    why == EFAULT ? " (GPU memory needs a dma-buf or nvidia-peermem)" : ""),
        why);
  }
}

memory_region::memory_region(const protection_domain& domain, dmabuf_range range,
                             std::uint64_t address, std::uint64_t bytes, region_access access)
    : mr_(ibv_reg_dmabuf_mr(domain.get(), range.offset, bytes, address, range.fd, flags(access))),
      address_(address),
      bytes_(bytes) {
  if (mr_ == nullptr) {
    throw call_error(
        fmt::format("registering {} bytes of GPU memory with {} through a dma-buf (the NIC's "
                    "driver must support it; mlx5 does from Linux 5.12 on)",
                    bytes, domain.device().name()),
        errno);
  }
}

memory_region::memory_region(memory_region&& other) noexcept { *this = std::move(other); }

memory_region& memory_region::operator=(memory_region&& other) noexcept {
  std::swap(mr_, other.mr_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

memory_region::~memory_region() {
  if (mr_ != nullptr) (void)ibv_dereg_mr(mr_);
}

}  // namespace gnstor::host::verbs
