/// What sysfs says of functions, and what may be taken from the kernel: over a folder that looks
/// like sysfs. What the kernel does when it is written to is the interop lab's.
#include "host/refusals.hpp"
#include "host/temp_folder.hpp"
#include <gnstor/pcie/function_binding.hpp>
#include <gnstor/pcie/open_device.hpp>
#include <gnstor/pcie/path_choice.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

using namespace gnstor;
using namespace gnstor::test;
using namespace gnstor::host::pcie;
namespace fs = std::filesystem;

namespace {

/// A folder with two NVMe controllers of one IOMMU group and a bridge above them; the first one is
/// the kernel's, and one of its namespaces' partitions is mounted.
class machine {
 public:
  machine() {
    add("0000:00:01.0", "0x060400", "pcieport");
    add("0000:01:00.0", "0x010802", "nvme");
    add("0000:01:00.1", "0x010802", "");
    put("sys/bus/pci/devices/0000:01:00.0/nvme/nvme0/nvme0n1/dev", "259:0");
    fs::create_directories(at("sys/class/block/nvme0n1/nvme0n1p1"));
    put("sys/class/block/nvme0n1/dev", "259:0");
    put("sys/class/block/nvme0n1/nvme0n1p1/partition", "1");
    put("sys/class/block/nvme0n1/nvme0n1p1/dev", "259:1");
    put("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw");
    for (const char* file : {"unbind", "driver_override"})
      put(std::string("sys/bus/pci/devices/0000:01:00.0/") + file, "");
  }
  void mount_it() {
    put("proc/self/mountinfo",
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 259:1 / /data rw - xfs /dev/nvme0n1p1 rw");
  }
  void put(const std::string& file, const std::string& text) {
    fs::create_directories(at(file).parent_path());
    std::ofstream(at(file)) << text << '\n';
  }
  std::string there(const std::string& file) const {
    std::string line;
    std::ifstream in(at(file));
    std::getline(in, line);
    return line;
  }
  fs::path at(const std::string& file) const { return fs::path(folder_.path()) / file; }
  pci_function function(const char* address) const {
    return pci_function(*pci_address::parse(address), folder_.path());
  }

 private:
  void add(const std::string& name, const std::string& code, const std::string& driver) {
    const std::string device = "sys/bus/pci/devices/" + name;
    put(device + "/class", code);
    fs::create_directories(at("sys/kernel/iommu_groups/3/devices"));
    put("sys/kernel/iommu_groups/3/type", "DMA");
    fs::create_symlink(at("sys/kernel/iommu_groups/3"), at(device + "/iommu_group"));
    fs::create_symlink(at(device), at("sys/kernel/iommu_groups/3/devices/" + name));
    if (driver.empty()) return;
    fs::create_directories(at("sys/bus/pci/drivers/" + driver));
    fs::create_symlink(at("sys/bus/pci/drivers/" + driver), at(device + "/driver"));
  }

  temp_folder folder_;
};

}  // namespace

TEST_CASE("the controllers of a machine are found, with who has them") {
  machine m;
  const auto all = pci_function::nvme_controllers(m.at(""));
  REQUIRE(all.size() == 2);
  CHECK(all[0].name() == "0000:01:00.0");
  CHECK(all[0].driver() == "nvme");
  CHECK(all[1].driver().empty());
  CHECK(all[1].iommu_group() == "3");
  CHECK(all[1].is_translated());
  CHECK(all[0].companions() == std::vector<std::string>{"0000:01:00.1"});  // no bridge
  CHECK(all[0].block_devices() == std::vector<std::string>{"nvme0n1"});
  m.put("sys/kernel/iommu_groups/3/type", "identity");
  CHECK_FALSE(all[1].is_translated());
}

TEST_CASE("what is mounted, held by another device, or not there is not taken") {
  machine m;
  m.put("sys/bus/pci/drivers/vfio-pci/bind", "");
  CHECK_THROWS_AS((void)m.function("0000:09:00.0"), host::input_error);
  const auto refusal = [&](const char* driver) {
    const pci_function f = m.function("0000:01:00.0");
    return refusal_of<host::input_error>([&] { function_binding(f).take(driver); });
  };
  m.mount_it();
  CHECK(says(refusal("vfio-pci"), "/dev/nvme0n1p1 is mounted on /data"));
  CHECK(says(refusal(""), "nothing was changed"));
  m.put("proc/self/mountinfo", "");
  fs::create_directories(m.at("sys/class/block/nvme0n1/holders/dm-3"));
  CHECK(says(refusal(""), "/dev/nvme0n1 is used by dm-3"));
  fs::remove(m.at("sys/class/block/nvme0n1/holders/dm-3"));
  CHECK(says(refusal("uio_pci"), "modprobe uio_pci"));
  // Nothing was written, and nothing kept.
  CHECK(m.there("sys/bus/pci/devices/0000:01:00.0/driver_override").empty());
  CHECK(m.there("sys/bus/pci/drivers/vfio-pci/bind").empty());
  CHECK(function_binding(m.function("0000:01:00.0")).kept().empty());
}

TEST_CASE("a controller that a driver of Linux keeps is reached through Linux, others directly") {
  using kind = path_choice::kind;
  machine m;
  const pci_function kept = m.function("0000:01:00.0");
  CHECK(path_choice::of(kept, kind::automatic).path == kind::linux_driver);
  CHECK(path_choice::of(kept, kind::linux_driver).why == "its driver nvme has it");
  CHECK(path_choice::of(kept, kind::device).path == kind::device);  // opening it says no
  const pci_function free = m.function("0000:01:00.1");
  CHECK(path_choice::of(free, kind::automatic).path == kind::device);
  CHECK(path_choice::of(free, kind::relay).path == kind::relay);
  CHECK(says(path_choice::of(free, kind::relay).why, "as asked"));
  CHECK(says(refusal_of<host::input_error>([&] { path_choice::of(free, kind::linux_driver); }),
             "gnstorctl local release 0000:01:00.1"));
}

TEST_CASE("an Ethernet controller whose interface is up is left alone") {
  machine m;
  const std::string folder = "sys/bus/pci/devices/0000:02:00.0/";
  m.put(folder + "class", "0x020000");
  m.put(folder + "vendor", "0x8086");
  m.put(folder + "device", "0x10d3");
  m.put(folder + "net/eth1/flags", "0x1003");
  m.put("sys/bus/pci/devices/0000:02:00.1/device", "0x10d3");
  const std::vector<pci_function> all = pci_function::ethernet_controllers(m.at(""));
  REQUIRE(all.size() == 1);
  CHECK(all[0].interfaces() == std::vector<std::string>{"eth1"});
  const std::string refusal =
      refusal_of<host::input_error>([&] { function_binding(all[0]).take("vfio-pci"); });
  CHECK(says(refusal, "its interface eth1 is up: ip link set eth1 down first"));
  CHECK(says(refusal_of<host::input_error>([&] { (void)open_device(all[0]); }), "no NVMe"));
  CHECK(says(refusal_of<host::input_error>(
                 [&] { (void)open_ethernet_device(m.function("0000:01:00.0")); }),
             "no 82574"));
  m.put(folder + "net/eth1/flags", "0x1002");
  CHECK(says(refusal_of<host::input_error>([&] { function_binding(all[0]).take("vfio-pci"); }),
             "modprobe vfio-pci"));
}

TEST_CASE("a function is opened by no program while the kernel's driver has it") {
  machine m;
  const auto refusal = [&](const char* address) {
    return refusal_of<host::input_error>([&] { (void)open_device(m.function(address)); });
  };
  m.mount_it();
  CHECK(says(refusal("0000:01:00.0"), "/dev/nvme0n1p1 is mounted on /data"));
  CHECK(says(refusal("0000:01:00.0"), "gnstorctl local bind 0000:01:00.0"));
  CHECK(says(refusal("0000:00:01.0"), "no NVMe controller"));
  // An IOMMU stands before this one.
  CHECK(says(refusal("0000:01:00.1"), "--driver vfio-pci"));
}
