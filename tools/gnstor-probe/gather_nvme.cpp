#include "gather.hpp"
#include <gnstor/pcie/block_device_use.hpp>
#include <gnstor/pcie/pci_function.hpp>

namespace gnstor::host::probe {

std::vector<nvme_facts> gather_nvme(const file_tree& files) {
  std::vector<nvme_facts> all;
  for (const pcie::pci_function& f : pcie::pci_function::nvme_controllers(files.root())) {
    nvme_facts out;
    out.pci = f.name();
    out.driver = f.driver();
    out.translated = f.is_translated();
    out.companions = f.companions();
    if (out.translated) out.group = files.node("/dev/vfio/" + f.iommu_group());
    out.registers = files.node("/sys/bus/pci/devices/" + f.name() + "/resource0");
    for (const std::string& disk : f.block_devices()) {
      out.disks.push_back(disk);
      out.disk_nodes.push_back(files.node("/dev/" + disk));
      if (out.use.empty()) out.use = pcie::block_device_use(files.root()).of(disk);
    }
    all.push_back(std::move(out));
  }
  return all;
}

}  // namespace gnstor::host::probe
