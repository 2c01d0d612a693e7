#pragma once

#include <gnstor/host/file_descriptor.hpp>
#include <gnstor/pcie/address_pool.hpp>
#include <gnstor/pcie/mapped_device.hpp>
#include <gnstor/pcie/pci_function.hpp>
#include <gnstor/pcie/removal_watcher.hpp>

#include <fcntl.h>
#include <linux/vfio.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace gnstor::host::pcie {

/// A function behind an IOMMU, by the kernel's VFIO: it reaches the memory that was mapped, and
/// nothing else. The function has to be bound to vfio-pci. Documentation/driver-api/vfio.rst.
///
/// Where the kernel wants it back (it is to be pulled out, or unbound) it is given up at once: its
/// registers read all ones then, and requests end by their deadlines.
class vfio_device final : public mapped_device {
 public:
  /// Throws `input_error` where the function is not bound, its group is shared with functions of
  /// the kernel's drivers, or another process has it; `error` for what the kernel refuses.
  explicit vfio_device(const pci_function& function) : mapped_device(function.name()) {
    if (function.driver() != "vfio-pci") {
      throw input_error(fmt::format(
          "{}: {} has it: gnstorctl local bind {} --driver vfio-pci", name(),
          function.driver().empty() ? "no driver" : "the kernel's driver " + function.driver(),
          name()));
    }
    group_name_ = function.iommu_group();
    container_ = opened("/dev/vfio/vfio", "is the module vfio loaded?");
    open_group(function);
    check(::ioctl(container_.get(), VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU),
          "choosing the IOMMU's kind (module vfio_iommu_type1)");
    find_addresses();
    device_ = file_descriptor(::ioctl(group_.get(), VFIO_GROUP_GET_DEVICE_FD, name().c_str()));
    check(device_.get(), "opening it");
    map_registers();
    let_it_reach_memory(device_.get(), region(VFIO_PCI_CONFIG_REGION_INDEX).offset);
    watch_for_removal();
  }

  std::uint64_t map(void* memory, std::uint64_t bytes) override {
    const std::lock_guard lock(use_);
    if (!device_.is_open()) throw error(name() + ": the controller was removed");
    constexpr std::uint64_t page = address_pool::page_bytes;
    const auto at = reinterpret_cast<std::uint64_t>(memory);
    const std::uint64_t skew = at % page;
    const std::uint64_t whole = (bytes + skew + page - 1) / page * page;
    const auto address = addresses_.take(whole);
    if (!address) {
      throw error(fmt::format("{}: the IOMMU has no {} addresses in one piece left: register less",
                              name(), whole));
    }
    vfio_iommu_type1_dma_map m{};
    m.argsz = sizeof m;
    m.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
    m.vaddr = at - skew;
    m.iova = *address;
    m.size = whole;
    if (::ioctl(container_.get(), VFIO_IOMMU_MAP_DMA, &m) != 0) {
      const int problem = errno;
      addresses_.give(*address, whole);
      throw error(fmt::format("{}: mapping {} bytes for it: {}{}", name(), whole,
                              std::strerror(problem), remedy(problem)));
    }
    mapped_.emplace(*address, whole);
    return *address + skew;
  }
  void unmap(std::uint64_t address) noexcept override {
    const std::lock_guard lock(use_);
    if (!device_.is_open()) return;
    const auto it = mapped_.find(address / address_pool::page_bytes * address_pool::page_bytes);
    if (it == mapped_.end()) return;
    vfio_iommu_type1_dma_unmap u{};
    u.argsz = sizeof u;
    u.iova = it->first;
    u.size = it->second;
    // Addresses whose mapping stays are not handed out again.
    if (::ioctl(container_.get(), VFIO_IOMMU_UNMAP_DMA, &u) == 0)
      addresses_.give(it->first, it->second);
    mapped_.erase(it);
  }
  register_file registers_file() const override {
    return {device_.get(), region(VFIO_PCI_BAR0_REGION_INDEX).offset};
  }
  std::string way() const override { return "VFIO, IOMMU group " + group_name_; }

 private:
  static const char* remedy(int problem) {
    if (problem == ENOMEM) return ": raise the limit of locked memory (ulimit -l)";
    if (problem == ENOSPC) return ": too many pieces are registered; register fewer, larger ones";
    if (problem == EPERM || problem == EACCES) return ": may this user open the group's file?";
    return "";
  }
  void check(int outcome, const char* what) const {
    if (outcome < 0)
      throw error(fmt::format("{}: {}: {}{}", name(), what, std::strerror(errno), remedy(errno)));
  }
  file_descriptor opened(const std::string& path, const char* question) const {
    file_descriptor fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (fd.is_open()) return fd;
    const int problem = errno;
    if (problem == EBUSY) throw input_error(name() + ": another process drives it");
    throw error(fmt::format("{}: opening {}: {}: {}", name(), path, std::strerror(problem),
                            problem == EACCES ? "may this user open it?" : question));
  }

  void open_group(const pci_function& function) {
    if (group_name_.empty()) {
      throw input_error(name() +
                        ": no IOMMU is in use on this machine (intel_iommu=on): gnstorctl "
                        "local bind --driver none");
    }
    group_ = opened("/dev/vfio/" + group_name_, "is it bound to vfio-pci?");
    vfio_group_status status{};
    status.argsz = sizeof status;
    check(::ioctl(group_.get(), VFIO_GROUP_GET_STATUS, &status), "asking for its group");
    if ((status.flags & VFIO_GROUP_FLAGS_VIABLE) == 0) {
      std::string others;
      for (const std::string& other : function.companions()) others += " " + other;
      throw input_error(
          fmt::format("{}: its IOMMU group {} has other functions that drivers of the kernel have "
                      "(of{}): bind them to vfio-pci, too, or use another slot",
                      name(), group_name_, others));
    }
    const int container = container_.get();
    check(::ioctl(group_.get(), VFIO_GROUP_SET_CONTAINER, &container), "joining its group");
  }

  /// What the IOMMU offers, without what is reserved (interrupts).
  void find_addresses() {
    vfio_iommu_type1_info size{};
    size.argsz = sizeof size;
    check(::ioctl(container_.get(), VFIO_IOMMU_GET_INFO, &size), "asking for addresses");
    std::vector<std::uint64_t> memory((size.argsz + 7) / 8);
    auto* const info = reinterpret_cast<vfio_iommu_type1_info*>(memory.data());
    info->argsz = size.argsz;
    check(::ioctl(container_.get(), VFIO_IOMMU_GET_INFO, info), "asking for addresses");
    bool said = false;
    const auto* const bytes = reinterpret_cast<const unsigned char*>(info);
    std::uint32_t at = (info->flags & VFIO_IOMMU_INFO_CAPS) != 0 ? info->cap_offset : 0;
    while (at != 0 && at + sizeof(vfio_info_cap_header) <= size.argsz) {
      const auto* const header = reinterpret_cast<const vfio_info_cap_header*>(bytes + at);
      if (header->id == VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE) {
        const auto* const c =
            reinterpret_cast<const vfio_iommu_type1_info_cap_iova_range*>(bytes + at);
        for (std::uint32_t k = 0; k < c->nr_iovas; ++k)
          offer(c->iova_ranges[k].start, c->iova_ranges[k].end);
        said = true;
      }
      at = header->next > at ? header->next : 0;
    }
    // An old kernel: what every IOMMU of an x86 has, below its interrupts.
    if (!said) offer(0, 0xfedfffff);
  }
  /// Address 0 is never handed out: a pointer that nobody set faults.
  void offer(std::uint64_t first, std::uint64_t last) {
    constexpr std::uint64_t page = address_pool::page_bytes;
    first = std::max((first + page - 1) / page, std::uint64_t{1}) * page;
    const std::uint64_t end = std::min(last, (std::uint64_t{1} << 62) - 1) / page * page;
    if (end > first) addresses_.give(first, end - first);
  }

  vfio_region_info region(std::uint32_t index) const {
    vfio_region_info r{};
    r.argsz = sizeof r;
    r.index = index;
    check(::ioctl(device_.get(), VFIO_DEVICE_GET_REGION_INFO, &r), "asking for a BAR");
    return r;
  }
  void map_registers() {
    const vfio_region_info bar = region(VFIO_PCI_BAR0_REGION_INDEX);
    if ((bar.flags & VFIO_REGION_INFO_FLAG_MMAP) == 0 || bar.size < 8192)
      throw error(name() + ": its first BAR cannot be mapped");
    registers_ = mapped_registers(device_.get(), bar.offset, bar.size, name());
  }
  /// Asks for an event when the device is to be given back.
  void watch_for_removal() {
    alignas(vfio_irq_set) unsigned char wanted[sizeof(vfio_irq_set) + sizeof(std::int32_t)] = {};
    auto* const head = reinterpret_cast<vfio_irq_set*>(wanted);
    head->argsz = sizeof wanted;
    head->flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
    head->index = VFIO_PCI_REQ_IRQ_INDEX;
    head->count = 1;
    const std::int32_t event = removal_.event();
    std::memcpy(wanted + sizeof(vfio_irq_set), &event, sizeof event);
    // A kernel without it waits for the end of the session, and says so in its log.
    if (::ioctl(device_.get(), VFIO_DEVICE_SET_IRQS, wanted) == 0)
      removal_.start([this] { give_up(); });
  }
  void give_up() {
    const std::lock_guard lock(use_);
    registers_.vacate();
    device_ = file_descriptor();  // which resets it
    group_ = file_descriptor();
    container_ = file_descriptor();
  }

  std::string group_name_;
  file_descriptor container_;
  file_descriptor group_;
  file_descriptor device_;
  std::mutex use_;
  address_pool addresses_;
  std::map<std::uint64_t, std::uint64_t> mapped_;  ///< address, bytes
  removal_watcher removal_;                        ///< its thread ends before the rest
};

}  // namespace gnstor::host::pcie
