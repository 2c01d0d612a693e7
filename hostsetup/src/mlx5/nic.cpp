#include "nic.hpp"

#include "register_home_memory.hpp"
#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace gnstor::host::mlx5 {
namespace {

capabilities capabilities_of(const verbs::device& on) {
  if (!mlx5dv_is_supported(on.context()->device)) {
    throw error(fmt::format(
        "{} is no ConnectX: kernels ring only ConnectX doorbells; use the proxy", on.name()));
  }
  capabilities c = capabilities::of(on.context());
  c.require(on.name(), 2);
  return c;
}

std::uint32_t number_of(const verbs::protection_domain& domain) {
  mlx5dv_pd pd{};
  mlx5dv_obj wanted{};
  wanted.pd.in = domain.get();
  wanted.pd.out = &pd;
  if (const int outcome = mlx5dv_init_obj(&wanted, MLX5DV_OBJ_PD); outcome != 0) {
    throw error(fmt::format("asking {} for the number of a protection domain: {}; update rdma-core",
                            domain.device().name(), std::strerror(outcome)));
  }
  return pd.pdn;
}

std::uint32_t event_queue_of(const verbs::device& on) {
  std::uint32_t number = 0;
  if (const int outcome = mlx5dv_devx_query_eqn(on.context(), 0, &number); outcome != 0) {
    throw error(fmt::format("asking {} for an event queue: {}; reload mlx5_core, or reboot",
                            on.name(), std::strerror(outcome > 0 ? outcome : errno)));
  }
  return number;
}

}  // namespace

nic::nic(const verbs::protection_domain& domain, std::shared_ptr<memory_home> home)
    : home_(std::move(home)),
      can_(capabilities_of(domain.device())),
      domain_(&domain),
      domain_number_(number_of(domain)),
      event_queue_(event_queue_of(domain.device())),
      doorbells_(context(), home_, std::size_t{1} << can_.log_blue_flame_bytes) {}

verbs::memory_region nic::register_memory(void* address, std::size_t bytes,
                                          verbs::region_access access) const {
  return register_home_memory(*domain_, *home_, {address, bytes}, access);
}

}  // namespace gnstor::host::mlx5
