#include "rules.hpp"

#include <fmt/format.h>

namespace gnstor::host::probe {
namespace {

std::string rdma_build(const machine_facts& facts) {
  if (facts.build.rdma) return "";
  return "this build of gnstor has no RDMA: install libibverbs-dev, librdmacm-dev and uuid-dev, "
         "and build it "
         "again";
}

/// No device: what would give one.
std::string rdma_presence(const machine_facts& facts) {
  if (!facts.rdma.empty()) return "";
  const auto rxe = state_of(facts, "rdma_rxe");
  const bool has_mlx5 = state_of(facts, "mlx5_core") == module_state::loaded;
  if (has_mlx5 && state_of(facts, "mlx5_ib") == module_state::available) {
    return "the ConnectX runs as an Ethernet card only: run modprobe mlx5_ib";
  }
  if (rxe == module_state::absent) {
    return fmt::format(
        "no RDMA device, and this kernel ({}) has no soft-RoCE: add an RDMA card, or boot a kernel "
        "with the module rdma_rxe, such as a distribution's",
        facts.kernel.release);
  }
  const std::string netdev =
      facts.kernel.ethernet.empty() ? "NETDEV" : facts.kernel.ethernet.front();
  const std::string load = rxe == module_state::available ? "modprobe rdma_rxe && " : "";
  return fmt::format("no RDMA device: make a soft one with {}rdma link add rxe0 type rxe netdev {}",
                     load, netdev);
}

std::string connection_manager(const machine_facts& facts) {
  const auto& node = facts.connection_manager;
  if (node.access == node_access::usable) return "";
  if (node.access == node_access::denied) {
    return fmt::format("no permission for {}: chmod 0666 {}, or run as root", node.path, node.path);
  }
  return "/dev/infiniband/rdma_cm is missing: run modprobe rdma_ucm, or give the container "
         "/dev/infiniband";
}

std::string device_node_there(const machine_facts&, const rdma_device_facts& device) {
  if (device.opens.works) return "";
  if (device.node.path.empty()) {
    return fmt::format("{} has no file under /dev/infiniband: run modprobe ib_uverbs", device.name);
  }
  if (device.node.access == node_access::missing) {
    return fmt::format("{} is missing: give the container /dev/infiniband, or let udev make it",
                       device.node.path);
  }
  if (device.node.access == node_access::denied) {
    return fmt::format("no permission for {}: chmod 0666 {}, or run as root", device.node.path,
                       device.node.path);
  }
  return "";
}

std::string device_opens(const machine_facts&, const rdma_device_facts& device) {
  if (!device.opens.tried || device.opens.works) return "";
  return fmt::format("{} does not open ({}): install the driver library (ibverbs-providers)",
                     device.name, device.opens.why);
}

std::string port_up(const machine_facts&, const rdma_device_facts& device) {
  for (const auto& port : device.ports) {
    if (port.active) return "";
  }
  for (const auto& port : device.ports) {
    if (!port.ethernet) {
      return fmt::format(
          "port {} of {} is down ({}): check its cable, and that a subnet manager "
          "(opensm) runs",
          port.number, device.name, port.state);
    }
    return fmt::format("port {} of {} is down ({}): ip link set {} up, and check its cable",
                       port.number, device.name, port.state,
                       port.netdev.empty() ? "NETDEV" : port.netdev);
  }
  return fmt::format("{} has no port: check its firmware", device.name);
}

std::string addressed(const machine_facts&, const rdma_device_facts& device) {
  if (device.driver == "siw") return "";
  const rdma_port_facts* lacks = nullptr;
  for (const auto& port : device.ports) {
    if (!port.active) continue;
    if (!port.ethernet || port.addressed) return "";
    lacks = &port;
  }
  return fmt::format(
      "{} has no IP address, so RDMA CM has no RoCE v2 GID: ip addr add ADDRESS/24 "
      "dev {}",
      device.name, lacks == nullptr || lacks->netdev.empty() ? "NETDEV" : lacks->netdev);
}

std::string locked_memory(const machine_facts& facts, const rdma_device_facts& device) {
  if (device.registers.works || facts.process.may_lock_any) return "";
  const auto limit = facts.process.locked_memory_bytes;
  if (limit >= registered_bytes) return "";
  return fmt::format(
      "only {} KiB of memory may be locked and a session registers {} MiB: ulimit -l unlimited, or "
      "'* - memlock unlimited' in /etc/security/limits.d/rdma.conf",
      limit >> 10, registered_bytes >> 20);
}

std::string registers(const machine_facts&, const rdma_device_facts& device) {
  if (!device.registers.tried || device.registers.works) return "";
  return fmt::format(
      "{} does not register {} MiB of memory ({}): raise ulimit -l and the "
      "container's memory limit",
      device.name, registered_bytes >> 20, device.registers.why);
}

}  // namespace

std::string rdma_obstacle(const machine_facts& facts) {
  for (const auto rule : {rdma_build, rdma_presence, connection_manager}) {
    if (auto remedy = rule(facts); !remedy.empty()) return remedy;
  }
  return obstacle_of_best<rdma_device_facts>(
      facts, facts.rdma,
      {device_node_there, device_opens, port_up, addressed, locked_memory, registers});
}

}  // namespace gnstor::host::probe
