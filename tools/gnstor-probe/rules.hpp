#pragma once
/// The rules by which endpoints are judged. Each takes facts and answers with the thing to change,
/// in a sentence, or with nothing.

#include "machine_facts.hpp"

#include <initializer_list>

namespace gnstor::host::probe {

/// The first thing that keeps kernels from running on a GPU of this machine.
std::string gpu_obstacle(const machine_facts& facts);

/// The first thing that keeps this machine from RDMA through any verbs device.
std::string rdma_obstacle(const machine_facts& facts);

/// The first thing that keeps a GPU from driving a ConnectX itself, beyond the two above.
std::string doorbell_obstacle(const machine_facts& facts);

/// The first thing that keeps kernels from disks that Linux reads and writes for them.
std::string disk_obstacle(const machine_facts& facts);

/// The first thing that keeps an NVMe controller that Linux's driver has from being reached so.
std::string kept_nvme_obstacle(const machine_facts& facts);

/// The first thing that keeps kernels from an NVMe controller's own doorbells.
std::string nvme_doorbell_obstacle(const machine_facts& facts);

/// The first thing that keeps kernels from packets of Linux by a tap.
std::string tap_obstacle(const machine_facts& facts);

/// The first thing that keeps kernels from an Ethernet controller's own tails.
std::string ethernet_obstacle(const machine_facts& facts);

/// The devices that a ConnectX's driver runs.
std::vector<rdma_device_facts> connectx_devices(const machine_facts& facts);

/// Whether memory of the first GPU can be registered with a device; nothing where only a try tells.
std::optional<bool> registers_gpu_memory(const machine_facts& facts,
                                         const rdma_device_facts& device);

/// One device that passes all rules is enough: empty. Else the remedy for the one that came
/// furthest.
/// @param rules in their order, each with the thing to change, or with nothing
template <class Device>
std::string obstacle_of_best(
    const machine_facts& facts, const std::vector<Device>& devices,
    std::initializer_list<std::string (*)(const machine_facts&, const Device&)> rules) {
  std::string best;
  int furthest = -1;
  for (const Device& device : devices) {
    int passed = 0;
    std::string remedy;
    for (const auto rule : rules) {
      remedy = rule(facts, device);
      if (!remedy.empty()) break;
      ++passed;
    }
    if (remedy.empty()) return "";
    if (passed > furthest) best = remedy, furthest = passed;
  }
  return best;
}

/// The state of a kernel module, `absent` if it was not asked for.
module_state state_of(const machine_facts& facts, const std::string& module);

}  // namespace gnstor::host::probe
