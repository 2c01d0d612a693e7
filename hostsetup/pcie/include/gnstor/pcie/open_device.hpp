#pragma once

#include <gnstor/pcie/block_device_use.hpp>
#include <gnstor/pcie/bus_device.hpp>
#include <gnstor/pcie/function_binding.hpp>
#include <gnstor/pcie/vfio_device.hpp>

#include <memory>

namespace gnstor::host::pcie {

/// Opens a function for this process: by VFIO where vfio-pci has it, by `resource0` where no driver
/// has it. Throws `input_error` that says what to do where that cannot be.
inline std::unique_ptr<mapped_device> open_function(const pci_function& f) {
  const std::string driver = f.driver();
  if (driver.empty()) return std::make_unique<bus_device>(f);
  if (driver == function_binding::vfio) return std::make_unique<vfio_device>(f);
  std::string uses;
  for (const std::string& device : f.block_devices()) {
    const std::string use = block_device_use(f.root()).of(device);
    if (!use.empty()) uses += ", " + use;
  }
  throw input_error(fmt::format(
      "{}: the kernel's driver {} has it{}: gnstorctl local bind {}{}, and afterwards "
      "gnstorctl local release {}",
      f.name(), driver, uses, f.name(), uses.empty() ? "" : " once that has ended", f.name()));
}

/// The same of an NVMe controller.
inline std::unique_ptr<mapped_device> open_device(const pci_function& f) {
  if (!f.is_nvme()) {
    throw input_error(
        fmt::format("{}: this is no NVMe controller (class {})", f.name(), f.attribute("class")));
  }
  return open_function(f);
}

/// The same of an Ethernet controller that gnstor drives.
inline std::unique_ptr<mapped_device> open_ethernet_device(const pci_function& f) {
  if (!f.is_82574()) {
    throw input_error(fmt::format(
        "{}: this is no 82574, the Ethernet controller that eth:// drives (class {}, {}:{})",
        f.name(), f.attribute("class"), f.attribute("vendor"), f.attribute("device")));
  }
  return open_function(f);
}

}  // namespace gnstor::host::pcie
