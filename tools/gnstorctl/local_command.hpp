#pragma once

#include <string>

namespace gnstor::tools {

/// What is wanted of an NVMe controller on this machine's bus.
struct local_wanted {
  std::string address;          ///< "0000:01:00.0"
  std::string driver = "auto";  ///< `vfio-pci`, `none`; auto: what the machine has
  std::string format = "text";  ///< or `json`
};

/// The NVMe controllers of this machine: who has each, whether an IOMMU stands before it, what its
/// block devices are used for.
std::string list_controllers(const local_wanted& w);
/// Takes a controller from the kernel, for programs of users. What it prints. Throws `input_error`
/// where it is in use, and changes nothing then; `error` for what the kernel refuses.
std::string bind_controller(const local_wanted& w);
/// Who has queues of a controller that gnstor-homid lends: `address` is the daemon's name.
std::string list_clients(const local_wanted& w);
/// Gives it back, also after a program that was killed.
std::string release_controller(const local_wanted& w);

}  // namespace gnstor::tools
