#include "controller_rules.hpp"
#include "file_tree.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::host::probe {
namespace {

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

std::string lockable(const machine_facts& facts, const controller_facts& c) {
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
  for (const controller_facts& c : facts.nvme) {
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
  return obstacle_of_best<controller_facts>(
      facts, facts.nvme, {alone_in_group, way_to_memory, bound, permitted, lockable});
}

}  // namespace gnstor::host::probe
