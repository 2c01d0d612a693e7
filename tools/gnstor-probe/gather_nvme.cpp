#include "gather.hpp"
#include <gnstor/pcie/block_device_use.hpp>
#include <gnstor/pcie/pci_function.hpp>

namespace gnstor::host::probe {
namespace {

controller_facts facts_of(const pcie::pci_function& f, const file_tree& files) {
  controller_facts out;
  out.pci = f.name();
  out.driver = f.driver();
  out.translated = f.is_translated();
  out.companions = f.companions();
  if (out.translated) out.group = files.node("/dev/vfio/" + f.iommu_group());
  out.registers = files.node("/sys/bus/pci/devices/" + f.name() + "/resource0");
  return out;
}

}  // namespace

std::vector<controller_facts> gather_nvme(const file_tree& files) {
  std::vector<controller_facts> all;
  for (const pcie::pci_function& f : pcie::pci_function::nvme_controllers(files.root())) {
    controller_facts out = facts_of(f, files);
    for (const std::string& disk : f.block_devices()) {
      out.disks.push_back(disk);
      out.disk_nodes.push_back(files.node("/dev/" + disk));
      if (out.use.empty()) out.use = pcie::block_device_use(files.root()).of(disk);
    }
    all.push_back(std::move(out));
  }
  return all;
}

std::vector<controller_facts> gather_ethernet(const file_tree& files) {
  std::vector<controller_facts> all;
  for (const pcie::pci_function& f : pcie::pci_function::ethernet_controllers(files.root())) {
    controller_facts out = facts_of(f, files);
    for (const std::string& interface : f.interfaces()) {
      if (out.use.empty() && f.is_up(interface)) out.use = interface + " is up";
    }
    all.push_back(std::move(out));
  }
  return all;
}

}  // namespace gnstor::host::probe
