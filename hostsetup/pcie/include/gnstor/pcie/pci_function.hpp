#pragma once

#include <gnstor/host/error.hpp>
#include <gnstor/pcie/pci_address.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace gnstor::host::pcie {

/// A function on this machine's PCI buses, by what Linux says of it in sysfs.
class pci_function {
 public:
  /// Throws `input_error` if there is none.
  /// @param root where `sys` is, for tests
  explicit pci_function(pci_address address, std::filesystem::path root = "/")
      : address_(address), root_(std::move(root)) {
    if (!std::filesystem::exists(folder())) {
      throw input_error(address.text() +
                        ": there is no such PCI function; gnstorctl local list shows the "
                        "controllers of this machine");
    }
  }

  /// All NVMe controllers, in the order of their addresses.
  static std::vector<pci_function> nvme_controllers(const std::filesystem::path& root = "/") {
    return those([](const pci_function& f) { return f.is_nvme(); }, root);
  }
  /// All Ethernet controllers that gnstor drives, likewise.
  static std::vector<pci_function> ethernet_controllers(const std::filesystem::path& root = "/") {
    return those([](const pci_function& f) { return f.is_82574(); }, root);
  }

  const pci_address& address() const { return address_; }
  std::string name() const { return address_.text(); }
  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path folder() const { return root_ / "sys/bus/pci/devices" / name(); }

  /// Class 01h (storage), 08h (non-volatile memory), 02h (NVMe).
  bool is_nvme() const { return attribute("class") == "0x010802"; }
  /// An 82574, 82574L included, as QEMU's e1000e is one: Ethernet of Intel's, device 10D3h.
  bool is_82574() const {
    return attribute("vendor") == "0x8086" && attribute("device") == "0x10d3";
  }
  /// The kernel's driver that has it: "nvme", "vfio-pci"; empty: none.
  std::string driver() const { return target_of("driver"); }
  /// The IOMMU group; empty where no IOMMU is in use.
  std::string iommu_group() const { return target_of("iommu_group"); }
  /// True if what the device calls an address is translated, and is no address of the bus.
  bool is_translated() const {
    const std::string type = attribute("iommu_group/type");
    return !iommu_group().empty() && type != "identity";
  }
  /// Others in its IOMMU group, which go to user space with it; bridges are left out.
  std::vector<std::string> companions() const {
    std::vector<std::string> others;
    std::error_code none;
    for (const auto& one :
         std::filesystem::directory_iterator(folder() / "iommu_group/devices", none)) {
      const std::string other = one.path().filename().string();
      const auto at = pci_address::parse(other);
      if (!at || *at == address_) continue;
      if (!pci_function(*at, root_).attribute("class").starts_with("0x0604"))
        others.push_back(other);
    }
    return others;
  }
  /// Block devices that the kernel's NVMe driver has made of its namespaces.
  std::vector<std::string> block_devices() const {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& controller : std::filesystem::directory_iterator(folder() / "nvme", none)) {
      for (const auto& one : std::filesystem::directory_iterator(controller.path(), none)) {
        const std::string name = one.path().filename().string();
        if (std::filesystem::exists(root_ / "sys/class/block" / name, none)) names.push_back(name);
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  /// Network interfaces that the kernel's driver has made of it.
  std::vector<std::string> interfaces() const {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& one : std::filesystem::directory_iterator(folder() / "net", none))
      names.push_back(one.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  /// True if one of them is up (IFF_UP): somebody may be using it.
  bool is_up(const std::string& interface) const {
    const std::string flags = attribute("net/" + interface + "/flags");
    return (std::strtoul(flags.c_str(), nullptr, 16) & 1) != 0;
  }

  /// The first line of a file in its folder; empty if it cannot be read.
  std::string attribute(const std::string& file) const {
    std::string line;
    std::ifstream in(folder() / file);
    std::getline(in, line);
    return line;
  }
  /// Writes a file of sysfs. Throws `error` with what the kernel says to it.
  /// @param file relative to the root
  void write(const std::filesystem::path& file, const std::string& value) const {
    std::ofstream out(root_ / file);
    errno = 0;
    out << value << std::flush;
    if (out.good()) return;
    const int problem = errno;
    throw error(fmt::format("{}: writing {} to {}: {}{}", name(), value, (root_ / file).string(),
                            std::strerror(problem),
                            problem == EACCES || problem == EPERM ? ": run it as root" : ""));
  }

 private:
  template <class Wanted>
  static std::vector<pci_function> those(const Wanted& wanted, const std::filesystem::path& root) {
    std::vector<pci_function> all;
    std::error_code none;
    for (const auto& one :
         std::filesystem::directory_iterator(root / "sys/bus/pci/devices", none)) {
      const auto address = pci_address::parse(one.path().filename().string());
      if (!address) continue;
      pci_function f(*address, root);
      if (wanted(f)) all.push_back(std::move(f));
    }
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return a.name() < b.name(); });
    return all;
  }

  std::string target_of(const char* link) const {
    std::error_code none;
    return std::filesystem::read_symlink(folder() / link, none).filename().string();
  }

  pci_address address_;
  std::filesystem::path root_;
};

}  // namespace gnstor::host::pcie
