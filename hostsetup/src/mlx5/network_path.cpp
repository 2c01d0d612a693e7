#include "network_path.hpp"

#include "ifc/address_path.hpp"
#include <gnstor/core/hash.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/wire/endian.hpp>

#include <fmt/format.h>
#include <infiniband/mlx5dv.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace gnstor::host::mlx5 {
namespace {

std::array<std::uint8_t, 6> mac_towards(const verbs::protection_domain& domain, ibv_ah_attr route) {
  const std::unique_ptr<ibv_ah, int (*)(ibv_ah*)> handle(ibv_create_ah(domain.get(), &route),
                                                         &ibv_destroy_ah);
  if (handle == nullptr) {
    throw error(fmt::format(
        "finding the peer's MAC from {}: {}; check that the peer answers ARP on this network",
        domain.device().name(), std::strerror(errno)));
  }
  mlx5dv_ah inside{};
  mlx5dv_obj wanted{};
  wanted.ah.in = handle.get();
  wanted.ah.out = &inside;
  if (const int outcome = mlx5dv_init_obj(&wanted, MLX5DV_OBJ_AH); outcome != 0) {
    throw error(fmt::format("reading an address handle of {}: {}; update rdma-core",
                            domain.device().name(), std::strerror(outcome)));
  }
  std::array<std::uint8_t, 6> mac{};
  std::copy_n(inside.av->rmac, mac.size(), mac.begin());
  return mac;
}

std::uint64_t big_endian(const std::uint8_t* bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return wire::be64(value);
}

}  // namespace

network_path network_path::of(const verbs::protection_domain& domain, const ibv_ah_attr& route,
                              std::uint16_t pkey_index) {
  network_path p;
  p.route = route;
  p.pkey_index = pkey_index;
  if (p.route.is_global == 0) return p;
  ibv_gid_entry source{};
  const int outcome = ibv_query_gid_ex(domain.device().context(), p.route.port_num,
                                       p.route.grh.sgid_index, &source, 0);
  if (outcome != 0) {
    throw error(fmt::format("reading address {} of {} port {}: {}; bring its network interface up",
                            p.route.grh.sgid_index, domain.device().name(), p.route.port_num,
                            std::strerror(outcome > 0 ? outcome : errno)));
  }
  p.udp = source.gid_type == IBV_GID_TYPE_ROCE_V2;
  p.roce = p.udp || source.gid_type == IBV_GID_TYPE_ROCE_V1;
  if (p.roce) p.peer_mac = mac_towards(domain, p.route);
  return p;
}

void network_path::put(std::span<unsigned char> command, std::uint32_t begin, std::uint32_t local,
                       std::uint32_t remote) const {
  namespace path = ifc::address_path;
  const auto set = [&](ifc::field f, std::uint64_t value) {
    ifc::put(command, f.at(begin), value);
  };
  set(path::port, route.port_num);
  set(path::pkey_index, pkey_index);
  set(path::static_rate, route.static_rate);
  if (route.is_global != 0) {
    set(path::source_address, route.grh.sgid_index);
    set(path::hop_limit, route.grh.hop_limit);
    set(path::traffic_class, route.grh.traffic_class);
    set(path::flow_label, route.grh.flow_label & 0xfffff);
    set(path::gid_high, big_endian(route.grh.dgid.raw));
    set(path::gid_low, big_endian(route.grh.dgid.raw + 8));
  }
  if (!roce) {
    set(path::grh, route.is_global != 0);
    set(path::path_bits, route.src_path_bits & 0x7f);
    set(path::lid, route.dlid);
    set(path::service_level, route.sl & 0xf);
    return;
  }
  std::uint64_t mac = 0;
  for (const std::uint8_t byte : peer_mac) mac = mac << 8 | byte;
  set(path::mac_high, mac >> 32);
  set(path::mac_low, mac & 0xffffffff);
  set(path::ethernet_priority, route.sl & 0x7);
  if (!udp) return;
  set(path::dscp, route.grh.traffic_class >> 2);
  // RoCE v2 takes 49,152 and above.
  set(path::udp_source_port, 0xc000 | (mix64(std::uint64_t{local} << 24 | remote) & 0x3fff));
}

}  // namespace gnstor::host::mlx5
