#pragma once

#include "file_tree.hpp"

namespace gnstor::host::probe {

/// What a machine's files tell: /proc, /sys, /dev, the kernel's configuration. Opens no device.
machine_facts gather(const file_tree& files);

/// The parts of it.
kernel_facts gather_kernel(const file_tree& files);
nvidia_driver_facts gather_nvidia_driver(const file_tree& files);
std::vector<gpu_facts> gather_gpus(const file_tree& files);
std::vector<rdma_device_facts> gather_rdma(const file_tree& files);
std::vector<controller_facts> gather_nvme(const file_tree& files);
std::vector<controller_facts> gather_ethernet(const file_tree& files);

/// What this build of the library was made with.
build_facts this_build();

}  // namespace gnstor::host::probe
