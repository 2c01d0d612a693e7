#include "controller_rules.hpp"

#include <fmt/format.h>

namespace gnstor::host::probe {

bool is_kept(const controller_facts& c) { return !c.driver.empty() && c.driver != "vfio-pci"; }

std::string alone_in_group(const machine_facts&, const controller_facts& c) {
  if (!c.translated || c.companions.empty()) return "";
  return fmt::format(
      "{} shares its IOMMU group with {}: bind that to vfio-pci, too, or move the controller to "
      "another slot",
      c.pci, c.companions.front());
}

std::string way_to_memory(const machine_facts& facts, const controller_facts& c) {
  const module_state module = state_of(facts, "vfio_pci");
  if (c.translated && module == module_state::absent) {
    return fmt::format(
        "this kernel ({}) has no vfio-pci, which a controller behind an IOMMU needs: boot "
        "one with it, such as a distribution's",
        facts.kernel.release);
  }
  if (c.translated && module == module_state::available) return "run modprobe vfio-pci";
  if (!c.translated && facts.kernel.free_huge_pages == 0) {
    return "no huge page is free, and without an IOMMU memory for a controller is made of them: "
           "echo 160 "
           "> /proc/sys/vm/nr_hugepages";
  }
  return "";
}

std::string bound(const machine_facts&, const controller_facts& c) {
  if (!is_kept(c)) return "";
  const std::string use = c.use.empty() ? "" : fmt::format(" once it is free ({})", c.use);
  return fmt::format("its driver {} has {}: gnstorctl local bind {}{}", c.driver, c.pci, c.pci,
                     use);
}

std::string permitted(const machine_facts& facts, const controller_facts& c) {
  if (!c.translated && !facts.process.is_root)
    return "without an IOMMU its registers are root's: run as root";
  const device_node& node = c.translated ? c.group : c.registers;
  if (node.access == node_access::usable) return "";
  if (node.access == node_access::missing) {
    return fmt::format("{} is missing: gnstorctl local bind {}, or give the container /dev/vfio",
                       node.path, c.pci);
  }
  return fmt::format("no permission for {}: chown it to this user, or run as root", node.path);
}

}  // namespace gnstor::host::probe
