#include "register_home_memory.hpp"

#include <gnstor/host/error.hpp>

#include <fmt/format.h>

namespace gnstor::host::mlx5 {
namespace {

constexpr std::uintptr_t host_page = 4096;  ///< a dma-buf's range consists of these

}  // namespace

verbs::memory_region register_home_memory(const verbs::protection_domain& domain, memory_home& home,
                                          memory_span memory, verbs::region_access access) {
  const auto at = reinterpret_cast<std::uintptr_t>(memory.address);
  const std::uintptr_t skew = at % host_page;
  std::string why_not;
  if (const auto exported =
          home.export_dmabuf(reinterpret_cast<void*>(at - skew), memory.bytes + skew)) {
    try {
      return verbs::memory_region(domain, verbs::dmabuf_range{exported->get(), skew}, at,
                                  memory.bytes, access);
    } catch (const error& e) {
      why_not = e.what();
    }
  }
  try {
    return verbs::memory_region(domain, memory.address, memory.bytes, access);
  } catch (const error& e) {
    if (why_not.empty()) throw;
    throw error(
        fmt::format("{}; and by address: {}; load nvidia-peermem, or use Linux 5.12 and the "
                    "open NVIDIA kernel modules for dma-buf",
                    why_not, e.what()));
  }
}

}  // namespace gnstor::host::mlx5
