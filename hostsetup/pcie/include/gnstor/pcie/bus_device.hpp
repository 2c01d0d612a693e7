#pragma once

#include <gnstor/host/file_descriptor.hpp>
#include <gnstor/pcie/huge_pages.hpp>
#include <gnstor/pcie/mapped_device.hpp>
#include <gnstor/pcie/pci_function.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

namespace gnstor::host::pcie {

/// A function without an IOMMU before it, which no driver of the kernel has: its registers by
/// sysfs's `resource0`, its memory in huge pages, by their addresses on the bus.
///
/// Nothing keeps such a device from any memory of this machine. Needs root.
class bus_device final : public mapped_device {
 public:
  /// Throws `input_error` if a driver has it, an IOMMU translates what it says, or another process
  /// uses it.
  explicit bus_device(const pci_function& function) : mapped_device(function.name()) {
    check(function);
    function.write(std::filesystem::path("sys/bus/pci/devices") / name() / "enable", "1");
    config_ = opened(function, "config");
    let_it_reach_memory(config_.get(), 0);
    resource_ = opened(function, "resource0");
    if (::flock(resource_.get(), LOCK_EX | LOCK_NB) != 0)
      throw input_error(name() + ": another process drives it");
    struct stat s {};
    if (::fstat(resource_.get(), &s) != 0 || s.st_size < 8192)
      throw error(name() + ": its first BAR is no memory of 8 KiB or more");
    registers_ =
        mapped_registers(resource_.get(), 0, static_cast<std::uint64_t>(s.st_size), name());
  }

  memory_block allocate(std::size_t bytes) override { return pages_.allocate(bytes); }
  std::uint64_t contiguous_bytes() const override { return huge_pages::page_bytes; }
  std::uint32_t granule_shift() const override { return huge_pages::shift; }

  std::uint64_t map(void* memory, std::uint64_t bytes) override {
    const std::vector<std::uint64_t> at = pages_.addresses(memory, bytes);
    for (std::size_t k = 1; k < at.size(); ++k) {
      if (at[k] != at[0] + k * huge_pages::page_bytes) {
        throw error(fmt::format(
            "{}: {} bytes do not lie in one piece on the bus: use a smaller session_options::depth",
            name(), bytes));
      }
    }
    return at.at(0) + reinterpret_cast<std::uint64_t>(memory) % huge_pages::page_bytes;
  }
  void unmap(std::uint64_t) noexcept override {}
  std::vector<std::uint64_t> map_granules(void* memory, std::uint64_t bytes) override {
    return pages_.addresses(memory, bytes);
  }
  register_file registers_file() const override { return {resource_.get(), 0}; }
  std::string way() const override {
    return "resource0 and huge pages, without an IOMMU: it reaches all memory of this machine";
  }

 private:
  static void check(const pci_function& f) {
    if (!f.driver().empty()) {
      throw input_error(fmt::format("{}: the kernel's driver {} has it: gnstorctl local bind {}",
                                    f.name(), f.driver(), f.name()));
    }
    if (f.is_translated()) {
      throw input_error(
          fmt::format("{}: an IOMMU translates its addresses: gnstorctl local bind {} --driver "
                      "vfio-pci",
                      f.name(), f.name()));
    }
  }
  static file_descriptor opened(const pci_function& f, const char* file) {
    const std::string path = (f.folder() / file).string();
    file_descriptor fd(::open(path.c_str(), O_RDWR | O_SYNC | O_CLOEXEC));
    if (!fd.is_open()) {
      throw error(fmt::format("opening {}: {}{}", path, std::strerror(errno),
                              errno == EACCES || errno == EPERM ? ": run it as root" : ""));
    }
    return fd;
  }
  file_descriptor config_;
  file_descriptor resource_;
  huge_pages pages_;
};

}  // namespace gnstor::host::pcie
