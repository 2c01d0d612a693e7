#include "gather.hpp"
#include "pci_config.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::host::probe {
namespace {

constexpr const char* wanted_modules[] = {
    "ib_core", "ib_uverbs", "rdma_cm",        "rdma_ucm",  "mlx5_core", "mlx5_ib",    "rdma_rxe",
    "siw",     "nvmet",     "nvmet_rdma",     "nvme_rdma", "nvidia",    "nvidia_uvm", "nouveau",
    "udmabuf", "gdrdrv",    "nvidia_peermem", "nvme",      "vfio_pci"};

/// Whether a list of module files names `module`; a file's dashes are a module's underscores.
bool lists(const std::vector<std::string>& files, std::string_view module) {
  return std::any_of(files.begin(), files.end(), [&](std::string_view line) {
    line = line.substr(0, line.find(':'));
    line = line.substr(line.rfind('/') + 1);
    line = line.substr(0, line.find(".ko"));
    return std::equal(line.begin(), line.end(), module.begin(), module.end(),
                      [](char a, char b) { return a == b || (a == '-' && b == '_'); });
  });
}

std::map<std::string, module_state> modules(const file_tree& files, const std::string& release) {
  const auto loaded = files.lines("/proc/modules");
  const auto built_in = files.lines(fmt::format("/lib/modules/{}/modules.builtin", release));
  const auto there = files.lines(fmt::format("/lib/modules/{}/modules.dep", release));
  std::map<std::string, module_state> out;
  for (const std::string name : wanted_modules) {
    const bool is_loaded = std::any_of(loaded.begin(), loaded.end(), [&](const auto& line) {
      return line.starts_with(name + " ");
    });
    out[name] = is_loaded                             ? module_state::loaded
                : lists(built_in, name)               ? module_state::built_in
                : files.exists("/sys/module/" + name) ? module_state::built_in
                : lists(there, name)                  ? module_state::available
                                                      : module_state::absent;
  }
  return out;
}

/// Whether the kernel's configuration has `option`; nothing if there is no configuration to read.
std::optional<bool> configured(const std::vector<std::string>& config, std::string_view option) {
  if (config.empty()) return std::nullopt;
  return std::any_of(config.begin(), config.end(), [&](const auto& line) {
    return line == fmt::format("CONFIG_{}=y", option) || line == fmt::format("CONFIG_{}=m", option);
  });
}

std::vector<std::string> configuration(const file_tree& files, const std::string& release) {
  auto config = files.lines("/boot/config-" + release);
  if (config.empty()) config = files.lines(fmt::format("/lib/modules/{}/config", release));
  return config;
}

/// Whether the kernel's symbols hold `name`; nothing if there are none to read.
std::optional<bool> has_symbol(const file_tree& files, std::string_view name) {
  const std::string all = files.bytes("/proc/kallsyms");
  if (all.empty()) return std::nullopt;
  return all.find(fmt::format(" {}\n", name)) != std::string::npos ||
         all.find(fmt::format(" {}\t", name)) != std::string::npos;
}

/// Ethernet devices that soft-RoCE could use, those that are up first.
std::vector<std::string> ethernet(const file_tree& files) {
  constexpr std::string_view ethernet_type = "1";
  std::vector<std::string> up, down;
  for (const auto& name : files.names("/sys/class/net")) {
    const std::string at = "/sys/class/net/" + name;
    if (name == "lo" || files.text(at + "/type") != ethernet_type) continue;
    (files.text(at + "/operstate") == "up" ? up : down).push_back(name);
  }
  up.insert(up.end(), down.begin(), down.end());
  return up;
}

void gather_iommu(const file_tree& files, kernel_facts& out) {
  for (const auto& group : files.names("/sys/kernel/iommu_groups")) {
    ++out.iommu_groups;
    const auto type = files.text(fmt::format("/sys/kernel/iommu_groups/{}/type", group));
    if (type.starts_with("DMA")) ++out.translating_groups;
  }
}

void gather_bridges(const file_tree& files, kernel_facts& out) {
  constexpr std::string_view bridge_class = "0x0604";
  for (const auto& name : files.names("/sys/bus/pci/devices")) {
    const std::string at = "/sys/bus/pci/devices/" + name;
    if (!files.text(at + "/class").starts_with(bridge_class)) continue;
    const auto redirects = acs_redirects(files.bytes(at + "/config"));
    if (!redirects) continue;
    ++out.bridges;
    if (*redirects) out.acs_redirecting.push_back(name);
  }
}

}  // namespace

kernel_facts gather_kernel(const file_tree& files) {
  kernel_facts out;
  out.release = files.text("/proc/sys/kernel/osrelease");
  out.modules = modules(files, out.release);
  const auto config = configuration(files, out.release);
  out.dma_buf = configured(config, "DMA_SHARED_BUFFER");
  if (!out.dma_buf) out.dma_buf = has_symbol(files, "dma_buf_export");
  out.infiniband = configured(config, "INFINIBAND");
  out.ethernet = ethernet(files);
  out.free_huge_pages =
      number_of(files.text("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"));
  out.io_uring_disabled =
      static_cast<std::uint32_t>(number_of(files.text("/proc/sys/kernel/io_uring_disabled")));
  gather_iommu(files, out);
  gather_bridges(files, out);
  return out;
}

}  // namespace gnstor::host::probe
