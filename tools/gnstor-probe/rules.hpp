#pragma once
/// The rules by which endpoints are judged. Each takes facts and answers with the thing to change,
/// in a sentence, or with nothing.

#include "machine_facts.hpp"

namespace gnstor::host::probe {

/// The first thing that keeps kernels from running on a GPU of this machine.
std::string gpu_obstacle(const machine_facts& facts);

/// The first thing that keeps this machine from RDMA through any verbs device.
std::string rdma_obstacle(const machine_facts& facts);

/// The first thing that keeps a GPU from driving a ConnectX itself, beyond the two above.
std::string doorbell_obstacle(const machine_facts& facts);

/// The devices that a ConnectX's driver runs.
std::vector<rdma_device_facts> connectx_devices(const machine_facts& facts);

/// Whether memory of the first GPU can be registered with a device; nothing where only a try tells.
std::optional<bool> registers_gpu_memory(const machine_facts& facts,
                                         const rdma_device_facts& device);

/// The state of a kernel module, `absent` if it was not asked for.
module_state state_of(const machine_facts& facts, const std::string& module);

}  // namespace gnstor::host::probe
