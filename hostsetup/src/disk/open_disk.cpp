#include "open_disk.hpp"

#include "disk_nvme.hpp"
#include <gnstor/pcie/block_device_use.hpp>

#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>
#include <map>

namespace gnstor::host {
namespace {

/// What a session says of a disk.
std::string note_on(const disk& d, const std::string& use) {
  return fmt::format(
      "disk:{}: {} MiB by Linux (io_uring{}), on this CPU{}{}", d.path(), d.bytes() >> 20,
      d.is_direct() ? ", past the page cache" : ", through the page cache",
      d.read_only() ? "; nothing is written to it" : "", use.empty() ? "" : ": " + use);
}

/// The block devices of a controller's namespaces, by their ids.
std::map<std::uint32_t, std::string> namespaces_of(const pcie::pci_function& controller) {
  std::map<std::uint32_t, std::string> all;
  for (const std::string& name : controller.block_devices()) {
    std::uint32_t nsid = 0;
    std::ifstream(controller.root() / "sys/class/block" / name / "nsid") >> nsid;
    if (nsid != 0) all[nsid] = name;
  }
  return all;
}

/// Which device or file a path leads to, by whatever name; empty where there is none.
std::string identity_of(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return {};
  if (S_ISBLK(about.st_mode)) return fmt::format("device {}", about.st_rdev);
  return fmt::format("file {} of {}", about.st_ino, about.st_dev);
}

/// Throws where two paths lead to one disk, whose stripes would be written over each other.
void refuse_same(const std::vector<std::string>& paths) {
  std::map<std::string, std::string> known;
  for (const std::string& path : paths) {
    const std::string identity = identity_of(path);
    if (identity.empty()) continue;  // opening it says why
    const auto [other, is_new] = known.emplace(identity, path);
    if (is_new) continue;
    throw input_error(
        fmt::format("disk:{} is the same disk as {}: name each once", path, other->second));
  }
}

}  // namespace

std::vector<std::unique_ptr<nvme_device>> open_disks(const disk_endpoint& where,
                                                     const session_options& options) {
  refuse_same(where.paths);
  std::vector<std::vector<disk>> opened;  // all of them before one is served
  for (const std::string& path : where.paths)
    opened.emplace_back().emplace_back(path, where.read_only);
  std::vector<std::unique_ptr<nvme_device>> all;
  for (std::vector<disk>& one : opened) {
    disk_nvme::options o{"disk:" + one[0].path(), where.queues, where.threads, {}};
    o.notes.push_back(note_on(one[0], {}));
    all.push_back(std::make_unique<disk_nvme>(std::move(one), std::move(o), options));
  }
  return all;
}

std::unique_ptr<nvme_device> open_kept(const pcie::pci_function& controller, const std::string& why,
                                       const pcie_endpoint& where, const session_options& options) {
  std::vector<disk> disks;
  disk_nvme::options o{controller.name(), where.queues, 1, {}};
  o.notes.push_back(fmt::format("{} through Linux: {}", controller.name(), why));
  for (const auto& [nsid, name] : namespaces_of(controller)) {
    if (nsid != disks.size() + 1) {
      throw input_error(
          fmt::format("{}: it has no namespace {}, but {}: open one by its device, disk:/dev/{}",
                      controller.name(), disks.size() + 1, nsid, name));
    }
    const std::string use = pcie::block_device_use().of(name);
    const bool left_alone = where.nsid != 0 && where.nsid != nsid;
    disks.emplace_back("/dev/" + name, left_alone || !use.empty());
    if (left_alone) continue;
    o.notes.push_back(note_on(disks.back(), use));
  }
  if (disks.empty()) {
    throw input_error(fmt::format(
        "{}: Linux has made no block device of it: see dmesg, or take it: gnstorctl local bind {}",
        controller.name(), controller.name()));
  }
  return std::make_unique<disk_nvme>(std::move(disks), std::move(o), options);
}

}  // namespace gnstor::host
