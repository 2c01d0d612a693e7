#include "gather.hpp"

#include <fmt/format.h>

namespace gnstor::host::probe {
namespace {

/// A device's driver. Soft-RoCE alone names its Ethernet device in `parent`; soft-iWARP is an RNIC
/// without hardware.
std::string driver_of(const file_tree& files, const std::string& at) {
  if (files.exists(at + "/parent")) return "rdma_rxe";
  const auto driver = files.link_name(at + "/device/driver");
  if (!driver.empty()) return driver;
  const bool soft = !files.exists(at + "/device");
  return soft && files.text(at + "/node_type").starts_with("4") ? "siw" : "unknown";
}

/// The file of the device under /dev/infiniband, by its number in /sys/class/infiniband_verbs.
device_node node_of(const file_tree& files, const std::string& device) {
  for (const auto& name : files.names("/sys/class/infiniband_verbs")) {
    if (files.text(fmt::format("/sys/class/infiniband_verbs/{}/ibdev", name)) == device) {
      return files.node("/dev/infiniband/" + name);
    }
  }
  return {};
}

/// Whether RDMA CM can use an entry of a port's GID table: RoCE v2 and not link-local.
bool routable(const file_tree& files, const std::string& port, const std::string& index) {
  constexpr std::string_view link_local = "fe80:";
  constexpr std::string_view empty = "0000:0000:0000:0000:0000:0000:0000:0000";
  const auto gid = files.text(fmt::format("{}/gids/{}", port, index));
  return !gid.empty() && gid != empty && !gid.starts_with(link_local) &&
         files.text(fmt::format("{}/gid_attrs/types/{}", port, index)) == "RoCE v2";
}

rdma_port_facts port_of(const file_tree& files, const std::string& at, const std::string& number) {
  rdma_port_facts out;
  const std::string port = at + "/ports/" + number;
  out.number = static_cast<int>(number_of(number));
  out.state = files.text(port + "/state");
  out.active = out.state.starts_with("4");
  out.ethernet = files.text(port + "/link_layer") == "Ethernet";
  for (const auto& index : files.names(port + "/gids")) {
    if (out.netdev.empty()) {
      out.netdev = files.text(fmt::format("{}/gid_attrs/ndevs/{}", port, index));
    }
    out.addressed = out.addressed || routable(files, port, index);
  }
  if (out.netdev.empty()) out.netdev = files.text(at + "/parent");
  return out;
}

}  // namespace

std::vector<rdma_device_facts> gather_rdma(const file_tree& files) {
  std::vector<rdma_device_facts> out;
  for (const auto& name : files.names("/sys/class/infiniband")) {
    const std::string at = "/sys/class/infiniband/" + name;
    rdma_device_facts device;
    device.name = name;
    device.driver = driver_of(files, at);
    device.firmware = files.text(at + "/fw_ver");
    device.pci = files.link_name(at + "/device");
    if (!device.pci.empty()) {
      const std::string group = "/sys/bus/pci/devices/" + device.pci + "/iommu_group";
      device.iommu_type = files.text(group + "/type");
    }
    device.node = node_of(files, name);
    for (const auto& number : files.names(at + "/ports")) {
      device.ports.push_back(port_of(files, at, number));
    }
    out.push_back(device);
  }
  return out;
}

}  // namespace gnstor::host::probe
