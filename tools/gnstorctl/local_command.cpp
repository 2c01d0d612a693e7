#include "local_command.hpp"

#include <gnstor/pcie/block_device_use.hpp>
#include <gnstor/pcie/function_binding.hpp>
#include <gnstor/pcie/pci_function.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <homi/homi_client.hpp>
#include <nlohmann/json.hpp>

namespace gnstor::tools {
namespace {

using host::input_error;
using host::pcie::block_device_use;
using host::pcie::function_binding;
using host::pcie::pci_function;

pci_function controller(const local_wanted& w) {
  const auto address = host::pcie::pci_address::parse(w.address);
  if (!address) {
    throw input_error(w.address +
                      ": expected DOMAIN:BUS:DEVICE.FUNCTION, such as 0000:01:00.0; gnstorctl "
                      "local list shows the controllers of this machine");
  }
  pci_function f(*address);
  if (!f.is_nvme() && !f.is_82574()) {
    throw input_error(fmt::format("{}: this is no NVMe controller, and no 82574 (class {})",
                                  f.name(), f.attribute("class")));
  }
  return f;
}

/// Block devices and network interfaces, with what they are used for.
std::vector<std::string> uses_of(const pci_function& f) {
  std::vector<std::string> uses;
  for (const std::string& device : f.block_devices()) {
    const std::string use = block_device_use().of(device);
    uses.push_back(use.empty() ? "/dev/" + device : use);
  }
  for (const std::string& interface : f.interfaces())
    uses.push_back(interface + (f.is_up(interface) ? " is up" : " is down"));
  return uses;
}

}  // namespace

std::string list_controllers(const local_wanted& w) {
  std::string text =
      fmt::format("{:<14} {:<10} {:<12} {}\n", "ADDRESS", "DRIVER", "IOMMU GROUP", "DEVICES");
  nlohmann::json all = nlohmann::json::array();
  std::vector<pci_function> controllers = pci_function::nvme_controllers();
  for (const pci_function& f : pci_function::ethernet_controllers()) controllers.push_back(f);
  for (const pci_function& f : controllers) {
    const std::vector<std::string> uses = uses_of(f);
    all.push_back({{"address", f.name()},
                   {"driver", f.driver()},
                   {"iommu_group", f.iommu_group()},
                   {"translated", f.is_translated()},
                   {"taken_from", function_binding(f).kept()},
                   {f.is_nvme() ? "block_devices" : "interfaces", uses}});
    text += fmt::format(
        "{:<14} {:<10} {:<12} {}\n", f.name(), f.driver().empty() ? "(none)" : f.driver(),
        f.iommu_group().empty() ? "(none)" : f.iommu_group(), fmt::join(uses, ", "));
  }
  if (w.format == "json") return all.dump() + "\n";
  return all.empty() ? "no NVMe controllers and no 82574 on this machine's bus\n" : text;
}

std::string list_clients(const local_wanted& w) {
  std::string text = fmt::format("{:<16} {:>8} {:>6} {:>7} {:>8} {:>14}\n", "PROGRAM", "PROCESS",
                                 "USER", "QUEUES", "CREATED", "SHARED BYTES");
  nlohmann::json all = nlohmann::json::array();
  for (const host::homi::client_report& c :
       host::homi::homi_client::report(host::homi::socket_path(w.address))) {
    const std::string program = host::homi::text_of(c.program);
    all.push_back({{"program", program},
                   {"process", c.process},
                   {"user", c.user},
                   {"queues", c.queues},
                   {"created", c.made},
                   {"bytes", c.bytes}});
    text += fmt::format("{:<16} {:>8} {:>6} {:>7} {:>8} {:>14}\n", program, c.process, c.user,
                        c.queues, c.made, c.bytes);
  }
  if (w.format == "json") return all.dump() + "\n";
  return all.empty() ? "nobody has queues\n" : text;
}

std::string bind_controller(const local_wanted& w) {
  const pci_function f = controller(w);
  std::string driver = w.driver;
  if (driver == "auto") driver = f.is_translated() ? function_binding::vfio : "none";
  if (driver == "none") driver.clear();
  if (driver.empty() && f.is_translated()) {
    throw input_error(f.name() +
                      ": an IOMMU translates its addresses, so that it cannot be driven without "
                      "vfio-pci: say --driver vfio-pci");
  }
  function_binding(f).take(driver);
  return fmt::format("{} is {}: {}://{}\n", f.name(),
                     driver.empty() ? "without a driver of the kernel" : "bound to " + driver,
                     f.is_nvme() ? "nvme" : "eth", f.name());
}

std::string release_controller(const local_wanted& w) {
  const pci_function f = controller(w);
  function_binding(f).give_back();
  return fmt::format("{} is {}'s again\n", f.name(), f.driver());
}

}  // namespace gnstor::tools
