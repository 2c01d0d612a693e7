#include "file_tree.hpp"
#include "rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::host::probe {
namespace {

constexpr const char* vfio = "vfio-pci";

bool is_kept(const nvme_facts& c) { return !c.driver.empty() && c.driver != vfio; }

std::string presence(const machine_facts& facts) {
  if (!facts.nvme.empty()) return "";
  return "no NVMe controller on this machine's bus: add an SSD; emu-nvme: tries it without one";
}

/// Kernel 5.6 has what is used of io_uring.
bool has_io_uring(const std::string& release) {
  const std::uint64_t major = number_of(release);
  const auto dot = release.find('.');
  const std::uint64_t minor = dot == std::string::npos ? 0 : number_of(release.substr(dot + 1));
  return major > 5 || (major == 5 && minor >= 6);
}

/// What may be used only together goes to user space together.
std::string alone_in_group(const machine_facts&, const nvme_facts& c) {
  if (!c.translated || c.companions.empty()) return "";
  return fmt::format(
      "{} shares its IOMMU group with {}: bind that to vfio-pci, too, or move the SSD to another "
      "slot",
      c.pci, c.companions.front());
}

std::string way_to_memory(const machine_facts& facts, const nvme_facts& c) {
  const module_state module = state_of(facts, "vfio_pci");
  if (c.translated && module == module_state::absent) {
    return fmt::format(
        "this kernel ({}) has no vfio-pci, which an SSD behind an IOMMU needs: boot "
        "one with it, such as a distribution's",
        facts.kernel.release);
  }
  if (c.translated && module == module_state::available) return "run modprobe vfio-pci";
  if (!c.translated && facts.kernel.free_huge_pages == 0) {
    return "no huge page is free, and without an IOMMU memory for an SSD is made of them: echo 160 "
           "> /proc/sys/vm/nr_hugepages";
  }
  return "";
}

std::string bound(const machine_facts&, const nvme_facts& c) {
  if (!is_kept(c)) return "";
  const std::string use = c.use.empty() ? "" : fmt::format(" once it is free ({})", c.use);
  return fmt::format("its driver {} has {}: gnstorctl local bind {}{}", c.driver, c.pci, c.pci,
                     use);
}

std::string permitted(const machine_facts& facts, const nvme_facts& c) {
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

std::string lockable(const machine_facts& facts, const nvme_facts& c) {
  if (!c.translated || facts.process.may_lock_any) return "";
  const auto limit = facts.process.locked_memory_bytes;
  if (limit >= registered_bytes) return "";
  return fmt::format(
      "only {} KiB of memory may be locked and a session registers {} MiB: ulimit -l unlimited",
      limit >> 10, registered_bytes >> 20);
}

}  // namespace

std::string disk_obstacle(const machine_facts& facts) {
  const kernel_facts& kernel = facts.kernel;
  if (!has_io_uring(kernel.release))
    return fmt::format("this kernel ({}) has no io_uring: 5.6 or later has", kernel.release);
  if (kernel.io_uring_disabled == 2 || (kernel.io_uring_disabled == 1 && !facts.process.is_root))
    return "io_uring is switched off: sysctl kernel.io_uring_disabled=0";
  return "";
}

std::string kept_nvme_obstacle(const machine_facts& facts) {
  if (auto remedy = presence(facts); !remedy.empty()) return remedy;
  if (auto remedy = disk_obstacle(facts); !remedy.empty()) return remedy;
  std::string denied;
  for (const nvme_facts& c : facts.nvme) {
    if (!is_kept(c) || c.disks.empty()) continue;
    const auto usable = [](const device_node& n) { return n.access == node_access::usable; };
    if (std::any_of(c.disk_nodes.begin(), c.disk_nodes.end(), usable)) return "";
    denied = c.disk_nodes.front().path;
  }
  if (!denied.empty())
    return fmt::format("no permission for {}: join its group (disk), or run as root", denied);
  return fmt::format("no driver of Linux has one: gnstorctl local release {}",
                     facts.nvme.front().pci);
}

std::string nvme_doorbell_obstacle(const machine_facts& facts) {
  if (auto remedy = presence(facts); !remedy.empty()) return remedy;
  return obstacle_of_best<nvme_facts>(facts, facts.nvme,
                                      {alone_in_group, way_to_memory, bound, permitted, lockable});
}

}  // namespace gnstor::host::probe
