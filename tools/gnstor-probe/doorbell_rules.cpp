#include "rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::host::probe {
namespace {

constexpr const char* set_key =
    "put 'options nvidia NVreg_RegistryDwords=\"PeerMappingOverride=1;\"' into "
    "/etc/modprobe.d/nvidia.conf, run update-initramfs -u, and reboot";

std::string devx(const machine_facts&, const rdma_device_facts& device) {
  if (!device.devx.tried || device.devx.works) return "";
  return fmt::format("{} gives no DevX context ({}): set UCTX_EN=1 by mlxconfig and reset the card",
                     device.name, device.devx.why);
}

std::string key(const machine_facts& facts, const rdma_device_facts& device) {
  if (device.doorbell.works || facts.nvidia.registry_is_set.value_or(true)) return "";
  return fmt::format("the NVIDIA driver lets no GPU map a NIC's doorbell: {}", set_key);
}

std::string iommu(const machine_facts&, const rdma_device_facts& device) {
  if (!device.iommu_type.starts_with("DMA")) return "";
  return fmt::format(
      "the IOMMU translates for {} ({}), and peers address each other physically: boot with "
      "iommu=pt",
      device.name, device.iommu_type);
}

std::string gpu_memory(const machine_facts& facts, const rdma_device_facts& device) {
  if (device.gpu_memory.tried && !device.gpu_memory.works &&
      state_of(facts, "nvidia_peermem") == module_state::loaded) {
    return fmt::format(
        "{} does not register GPU memory ({}) though nvidia-peermem is loaded: "
        "reload it after the NIC's driver",
        device.name, device.gpu_memory.why);
  }
  if (registers_gpu_memory(facts, device).value_or(true)) return "";
  if (!facts.gpus.empty() && facts.gpus.front().peer_dma == false) {
    return fmt::format(
        "{} offers no GPUDirect RDMA: use a data-centre or workstation GPU, or "
        "rdma:// by proxy",
        facts.gpus.front().name);
  }
  if (state_of(facts, "nvidia_peermem") == module_state::available) {
    return "GPU memory cannot be registered: run modprobe nvidia-peermem";
  }
  return "GPU memory cannot be registered by dma-buf: install the driver's open kernel modules "
         "(nvidia-open) and a kernel of 5.12 or newer, or nvidia-peermem";
}

std::string doorbell(const machine_facts&, const rdma_device_facts& device) {
  if (!device.doorbell.tried || device.doorbell.works) return "";
  return fmt::format(
      "the GPU cannot map the doorbell of {} ({}): put both below one PCIe switch "
      "or root complex, or use rdma:// by proxy",
      device.name, device.doorbell.why);
}

/// Kernels before 5.12 cannot register a dma-buf.
bool kernel_takes_dma_buf(const std::string& release) {
  int major = 0, minor = 0;
  if (std::sscanf(release.c_str(), "%d.%d", &major, &minor) != 2) return true;
  return major > 5 || (major == 5 && minor >= 12);
}

}  // namespace

std::vector<rdma_device_facts> connectx_devices(const machine_facts& facts) {
  std::vector<rdma_device_facts> out;
  std::copy_if(facts.rdma.begin(), facts.rdma.end(), std::back_inserter(out),
               [](const auto& device) { return device.driver.starts_with("mlx5"); });
  return out;
}

std::optional<bool> registers_gpu_memory(const machine_facts& facts,
                                         const rdma_device_facts& device) {
  if (device.gpu_memory.tried) return device.gpu_memory.works;
  if (facts.gpus.empty()) return false;
  if (state_of(facts, "nvidia_peermem") == module_state::loaded) return true;
  if (!facts.kernel.dma_buf.value_or(true) || !kernel_takes_dma_buf(facts.kernel.release)) {
    return false;
  }
  const auto& exports = facts.gpus.front().dma_buf;
  if (exports) return *exports;
  if (facts.nvidia.version.empty()) return std::nullopt;
  return facts.nvidia.open_modules;
}

std::string doorbell_obstacle(const machine_facts& facts) {
  const auto devices = connectx_devices(facts);
  if (devices.empty()) {
    return "no ConnectX (a card of the mlx5 driver): add one of generation 4 or newer; rdma:// by "
           "proxy takes any RDMA device";
  }
  return obstacle_of_best<rdma_device_facts>(facts, devices,
                                             {devx, key, gpu_memory, iommu, doorbell});
}

}  // namespace gnstor::host::probe
