#pragma once

#include <gnstor/host/error.hpp>
#include <gnstor/host/pcie_endpoint.hpp>
#include <gnstor/pcie/function_binding.hpp>

#include <fmt/format.h>

#include <string>

namespace gnstor::host::pcie {

/// By which path kernels reach an NVMe controller, and why.
struct path_choice {
  using kind = pcie_endpoint::path_kind;

  kind path = kind::device;
  std::string why;

  /// The one policy: a controller that a driver of Linux keeps is reached through Linux, any other
  /// by its own queues.
  /// @param asked `automatic`, or the path that it is to be
  /// Throws `input_error` with the remedy where the path asked for is not open.
  static path_choice of(const pci_function& f, kind asked) {
    const std::string driver = f.driver();
    const bool kept = !driver.empty() && driver != function_binding::vfio;
    if (kept && (asked == kind::automatic || asked == kind::linux_driver))
      return {kind::linux_driver, fmt::format("its driver {} has it", driver)};
    if (!kept && asked == kind::linux_driver) {
      throw input_error(fmt::format(
          "{}: path=linux needs the driver of Linux, and {}: gnstorctl local release {}", f.name(),
          driver.empty() ? "none has it" : driver + " has it", f.name()));
    }
    const std::string whose = driver.empty() ? "no driver has it" : driver + " has it";
    if (asked == kind::relay)
      return {kind::relay, whose + "; a thread of this CPU rings its doorbells, as asked"};
    return {kind::device, whose};
  }
};

}  // namespace gnstor::host::pcie
