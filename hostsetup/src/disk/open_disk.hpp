#pragma once

#include <gnstor/host/disk_endpoint.hpp>
#include <gnstor/host/pcie_endpoint.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/pcie/pci_function.hpp>

#include <local/nvme_device.hpp>

#include <memory>
#include <string>
#include <vector>

namespace gnstor::host {

/// Opens the disks that an endpoint `disk:` names, in its order. Throws `input_error` for what is
/// none, is in use, or is another one of them, `error` where it cannot be opened or there is no
/// io_uring.
std::vector<std::unique_ptr<nvme_device>> open_disks(const disk_endpoint& where,
                                                     const session_options& options);

/// Opens the namespaces of an NVMe controller that Linux's driver keeps. Those in use are read, and
/// nothing is written to them. Throws likewise.
/// @param why they are reached so, for `session::notes()`
std::unique_ptr<nvme_device> open_kept(const pcie::pci_function& controller, const std::string& why,
                                       const pcie_endpoint& where, const session_options& options);

}  // namespace gnstor::host
