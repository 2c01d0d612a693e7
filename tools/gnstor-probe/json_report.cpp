#include "json_report.hpp"

#include "report.hpp"

#include <nlohmann/json.hpp>

namespace gnstor::host::probe {
namespace {

using nlohmann::ordered_json;

template <class T>
ordered_json maybe(const std::optional<T>& fact) {
  return fact ? ordered_json(*fact) : ordered_json(nullptr);
}

/// null where it was not tried.
ordered_json to_json(const trial& t) {
  if (!t.tried) return nullptr;
  return {{"works", t.works}, {"why", t.why}};
}

ordered_json to_json(const device_node& node) {
  return {{"path", node.path}, {"access", word(node.access)}};
}

ordered_json to_json(const gpu_facts& gpu) {
  return {{"pci", gpu.pci},
          {"name", gpu.name},
          {"compute_capability", std::to_string(gpu.major) + "." + std::to_string(gpu.minor)},
          {"dma_buf", maybe(gpu.dma_buf)},
          {"peer_dma", maybe(gpu.peer_dma)}};
}

ordered_json to_json(const nvidia_driver_facts& nvidia) {
  ordered_json nodes = ordered_json::array();
  for (const auto& node : nvidia.nodes) nodes.push_back(to_json(node));
  return {{"version", nvidia.version},
          {"open_modules", nvidia.open_modules},
          {"registry", nvidia.registry},
          {"peer_mapping_override", maybe(nvidia.registry_is_set)},
          {"nodes", nodes},
          {"cuda", to_json(nvidia.cuda)},
          {"cuda_version", maybe(nvidia.cuda_version)}};
}

ordered_json to_json(const rdma_port_facts& port) {
  return {{"number", port.number},       {"state", port.state},
          {"active", port.active},       {"link_layer", port.ethernet ? "Ethernet" : "InfiniBand"},
          {"addressed", port.addressed}, {"netdev", port.netdev}};
}

ordered_json to_json(const rdma_device_facts& device) {
  ordered_json ports = ordered_json::array();
  for (const auto& port : device.ports) ports.push_back(to_json(port));
  return {{"name", device.name},
          {"driver", device.driver},
          {"firmware", device.firmware},
          {"pci", device.pci},
          {"iommu_type", device.iommu_type},
          {"node", to_json(device.node)},
          {"ports", ports},
          {"opens", to_json(device.opens)},
          {"registers", to_json(device.registers)},
          {"devx", to_json(device.devx)},
          {"doorbell", to_json(device.doorbell)},
          {"gpu_memory", to_json(device.gpu_memory)}};
}

ordered_json to_json(const controller_facts& c) {
  return {{"pci", c.pci},
          {"driver", c.driver},
          {"translated", c.translated},
          {"companions", c.companions},
          {"group", to_json(c.group)},
          {"registers", to_json(c.registers)},
          {"disks", c.disks},
          {"use", c.use}};
}

ordered_json to_json(const kernel_facts& kernel) {
  ordered_json modules = ordered_json::object();
  for (const auto& [name, state] : kernel.modules) modules[name] = word(state);
  return {{"release", kernel.release},
          {"modules", modules},
          {"dma_buf", maybe(kernel.dma_buf)},
          {"infiniband", maybe(kernel.infiniband)},
          {"ethernet", kernel.ethernet},
          {"iommu_groups", kernel.iommu_groups},
          {"translating_groups", kernel.translating_groups},
          {"bridges", kernel.bridges},
          {"acs_redirecting", kernel.acs_redirecting},
          {"free_huge_pages", kernel.free_huge_pages},
          {"io_uring_disabled", kernel.io_uring_disabled}};
}

ordered_json to_json(const process_facts& process) {
  const bool unlimited = process.locked_memory_bytes == ~std::uint64_t{0};
  return {{"locked_memory_bytes",
           unlimited ? ordered_json(nullptr) : ordered_json(process.locked_memory_bytes)},
          {"may_lock_any", process.may_lock_any},
          {"is_root", process.is_root},
          {"may_make_interfaces", process.may_make_interfaces},
          {"lazy_loading", process.lazy_loading}};
}

ordered_json to_json(const verdict& v) {
  return {{"scheme", v.scheme},
          {"means", v.means},
          {"works", v.works},
          {"remedy", v.remedy},
          {"notes", v.notes}};
}

}  // namespace

ordered_json json_report(const machine_facts& facts, const std::vector<verdict>& verdicts) {
  ordered_json gpus = ordered_json::array();
  for (const auto& gpu : facts.gpus) gpus.push_back(to_json(gpu));
  ordered_json devices = ordered_json::array();
  for (const auto& device : facts.rdma) devices.push_back(to_json(device));
  ordered_json controllers = ordered_json::array();
  for (const auto& c : facts.nvme) controllers.push_back(to_json(c));
  ordered_json ethernet = ordered_json::array();
  for (const auto& c : facts.ethernet) ethernet.push_back(to_json(c));
  ordered_json endpoints = ordered_json::array();
  for (const auto& v : verdicts) endpoints.push_back(to_json(v));
  return {{"endpoints", endpoints},
          {"gpus", gpus},
          {"nvidia", to_json(facts.nvidia)},
          {"rdma", devices},
          {"nvme", controllers},
          {"ethernet", ethernet},
          {"rdma_nodes", facts.rdma_nodes},
          {"connection_manager", to_json(facts.connection_manager)},
          {"udmabuf", to_json(facts.udmabuf)},
          {"tun", to_json(facts.tun)},
          {"kernel", to_json(facts.kernel)},
          {"process", to_json(facts.process)},
          {"build", {{"cuda", facts.build.cuda}, {"rdma", facts.build.rdma}}}};
}

}  // namespace gnstor::host::probe
