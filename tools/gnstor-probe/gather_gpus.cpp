#include "gather.hpp"

#include <algorithm>
#include <cctype>

namespace gnstor::host::probe {
namespace {

constexpr std::string_view override_key = "PeerMappingOverride=1";

bool is_version(std::string_view word) {
  return word.find('.') != std::string_view::npos &&
         std::all_of(word.begin(), word.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; });
}

/// What follows "name:" in the first line that begins so.
std::string field(const std::vector<std::string>& lines, std::string_view name) {
  for (const std::string_view line : lines) {
    if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
    std::string_view value = line.substr(name.size() + 1);
    const auto first = value.find_first_not_of(" \t");
    return first == std::string_view::npos ? "" : std::string(value.substr(first));
  }
  return "";
}

std::string without_quotes(std::string text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

bool is_gpu(const file_tree& files, const std::string& at) {
  const auto kind = files.text(at + "/class");
  return files.text(at + "/vendor") == "0x10de" &&
         (kind.starts_with("0x0300") || kind.starts_with("0x0302"));
}

}  // namespace

nvidia_driver_facts gather_nvidia_driver(const file_tree& files) {
  nvidia_driver_facts out;
  const auto version = files.text("/proc/driver/nvidia/version");
  for (const auto& word : words_of(version.substr(0, version.find('\n')))) {
    if (out.version.empty() && is_version(word)) out.version = word;
  }
  out.open_modules = version.find("Open Kernel Module") != std::string::npos;
  if (out.version.empty()) out.version = files.text("/sys/module/nvidia/version");
  const auto params = files.lines("/proc/driver/nvidia/params");
  out.registry = without_quotes(field(params, "RegistryDwords"));
  if (!params.empty()) {
    const auto per_device = field(params, "RegistryDwordsPerDevice");
    out.registry_is_set = out.registry.find(override_key) != std::string::npos ||
                          per_device.find(override_key) != std::string::npos;
  }
  bool numbered = false;
  for (const auto& name : files.names("/dev")) {
    const bool is_number = name.size() > 6 && name.starts_with("nvidia") &&
                           std::isdigit(static_cast<unsigned char>(name[6])) != 0;
    if (!is_number) continue;
    numbered = true;
    out.nodes.push_back(files.node("/dev/" + name));
  }
  if (!numbered) out.nodes.push_back(files.node("/dev/nvidia0"));
  out.nodes.push_back(files.node("/dev/nvidiactl"));
  out.nodes.push_back(files.node("/dev/nvidia-uvm"));
  return out;
}

std::vector<gpu_facts> gather_gpus(const file_tree& files) {
  std::vector<std::string> addresses = files.names("/proc/driver/nvidia/gpus");
  for (const auto& pci : files.names("/sys/bus/pci/devices")) {
    if (is_gpu(files, "/sys/bus/pci/devices/" + pci)) addresses.push_back(pci);
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  std::vector<gpu_facts> out;
  for (const auto& pci : addresses) {
    gpu_facts gpu;
    gpu.pci = pci;
    gpu.name = field(files.lines("/proc/driver/nvidia/gpus/" + pci + "/information"), "Model");
    out.push_back(gpu);
  }
  return out;
}

}  // namespace gnstor::host::probe
