#include "report.hpp"

#include "rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gnstor::host::probe {
namespace {

std::string word(const std::optional<bool>& fact) {
  return !fact ? "unknown" : *fact ? "yes" : "no";
}

std::string word(const trial& t) {
  if (!t.tried) return "not tried";
  const char* outcome = t.works ? "works" : "refused";
  return t.why.empty() ? outcome : fmt::format("{} ({})", outcome, t.why);
}

std::string gpus(const machine_facts& facts) {
  std::string out = "GPUs\n";
  if (facts.gpus.empty()) out += "  none\n";
  for (const auto& gpu : facts.gpus) {
    out += fmt::format("  {}  {}", gpu.pci, gpu.name.empty() ? "NVIDIA, no driver" : gpu.name);
    if (gpu.major != 0) out += fmt::format(", compute capability {}.{}", gpu.major, gpu.minor);
    out +=
        fmt::format(", GPUDirect RDMA: {}, dma-buf: {}\n", word(gpu.peer_dma), word(gpu.dma_buf));
  }
  const auto& nvidia = facts.nvidia;
  if (nvidia.version.empty() && facts.gpus.empty()) return out;
  out += fmt::format("  driver {}{}, CUDA: {}", nvidia.version.empty() ? "none" : nvidia.version,
                     nvidia.open_modules ? " (open kernel modules)" : "", word(nvidia.cuda));
  if (nvidia.cuda_version) {
    out += fmt::format(", up to CUDA {}.{}", *nvidia.cuda_version / 1000,
                       *nvidia.cuda_version % 1000 / 10);
  }
  return out + fmt::format("\n  driver keys: RegistryDwords=\"{}\", PeerMappingOverride: {}\n",
                           nvidia.registry, word(nvidia.registry_is_set));
}

std::string rdma(const machine_facts& facts) {
  std::string out = "RDMA devices\n";
  if (facts.rdma.empty()) out += "  none\n";
  for (const auto& device : facts.rdma) {
    out += fmt::format("  {}  {}{}{}, {}: {}\n", device.name, device.driver,
                       device.firmware.empty() ? "" : ", firmware " + device.firmware,
                       device.pci.empty() ? "" : ", " + device.pci,
                       device.node.path.empty() ? "no device file" : device.node.path,
                       word(device.node.access));
    for (const auto& port : device.ports) {
      out +=
          fmt::format("    port {}: {}, {}{}, RoCE v2 address: {}\n", port.number, port.state,
                      port.ethernet ? "Ethernet" : "InfiniBand",
                      port.netdev.empty() ? "" : " " + port.netdev, port.addressed ? "yes" : "no");
    }
    out += fmt::format("    open: {}; {} MiB registered: {}; GPU memory: {}\n", word(device.opens),
                       registered_bytes >> 20, word(device.registers), word(device.gpu_memory));
    if (device.driver.starts_with("mlx5")) {
      out += fmt::format("    DevX: {}; doorbell mapped for the GPU: {}\n", word(device.devx),
                         word(device.doorbell));
    }
  }
  return out + fmt::format("  {}: {}\n", facts.connection_manager.path,
                           word(facts.connection_manager.access));
}

std::string nvme(const machine_facts& facts) {
  std::string out = "NVMe controllers\n";
  if (facts.nvme.empty()) out += "  none\n";
  for (const auto& c : facts.nvme) {
    out += fmt::format("  {}  driver {}, IOMMU: {}", c.pci, c.driver.empty() ? "none" : c.driver,
                       c.translated ? c.group.path : "no");
    if (c.translated) out += fmt::format(" ({})", word(c.group.access));
    out += fmt::format(", disks: {}\n",
                       c.disks.empty() ? "none" : fmt::to_string(fmt::join(c.disks, ", ")));
    if (!c.use.empty()) out += fmt::format("    {}\n", c.use);
  }
  return out;
}

std::string ethernet(const machine_facts& facts) {
  std::string out = "Ethernet controllers that kernels can drive (82574)\n";
  if (facts.ethernet.empty()) out += "  none\n";
  for (const auto& c : facts.ethernet) {
    out +=
        fmt::format("  {}  driver {}, IOMMU: {}{}{}\n", c.pci, c.driver.empty() ? "none" : c.driver,
                    c.translated ? c.group.path : "no", c.use.empty() ? "" : ", ", c.use);
  }
  return out + fmt::format("  {}: {}\n", facts.tun.path, word(facts.tun.access));
}

std::string system(const machine_facts& facts) {
  const auto& kernel = facts.kernel;
  std::string out = fmt::format("Kernel {}\n", kernel.release);
  for (const auto& [name, state] : kernel.modules) {
    if (state != module_state::absent) out += fmt::format("  {}: {}\n", name, word(state));
  }
  out += fmt::format("  dma-buf: {}, {}: {}\n", word(kernel.dma_buf), facts.udmabuf.path,
                     word(facts.udmabuf.access));
  out += fmt::format(
      "  IOMMU: {} groups, {} translating; ACS redirects at {} of {} readable bridges\n",
      kernel.iommu_groups, kernel.translating_groups, kernel.acs_redirecting.size(),
      kernel.bridges);
  out += fmt::format("  free huge pages of 2 MiB: {}, io_uring: {}\n", kernel.free_huge_pages,
                     kernel.io_uring_disabled == 0 ? "allowed" : "switched off");
  const auto limit = facts.process.locked_memory_bytes;
  out += fmt::format("  locked memory: {}{}\n",
                     limit == ~std::uint64_t{0} ? "no limit" : fmt::format("{} KiB", limit >> 10),
                     facts.process.may_lock_any ? ", and CAP_IPC_LOCK" : "");
  return out + fmt::format("  this build: {} CUDA, {} RDMA\n",
                           facts.build.cuda ? "with" : "without",
                           facts.build.rdma ? "with" : "without");
}

}  // namespace

const char* word(node_access access) {
  switch (access) {
    case node_access::missing: return "missing";
    case node_access::denied: return "no permission";
    case node_access::usable: return "usable";
  }
  return "unknown";
}

const char* word(module_state state) {
  switch (state) {
    case module_state::absent: return "absent";
    case module_state::available: return "available, not loaded";
    case module_state::loaded: return "loaded";
    case module_state::built_in: return "built in";
  }
  return "unknown";
}

std::string report(const machine_facts& facts, const std::vector<verdict>& verdicts) {
  std::string out =
      gpus(facts) + rdma(facts) + nvme(facts) + ethernet(facts) + system(facts) + "Endpoints\n";
  for (const auto& v : verdicts) {
    out += fmt::format("  {:<20} {}\n", v.scheme, v.works ? "works: " + v.means : v.remedy);
    for (const auto& note : v.notes) out += fmt::format("  {:<20} note: {}\n", "", note);
  }
  return out;
}

}  // namespace gnstor::host::probe
