#pragma once

#include <gnstor/host/error.hpp>
#include <gnstor/host/file_descriptor.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/pcie/address_pool.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace gnstor::host::pcie {

/// Memory in huge pages of 2 MiB, whose addresses on the bus are known: the kernel does not move
/// them. For devices that no IOMMU stands before; all of a process that live at the same time share
/// them, so that several reach the same memory. Needs root, to learn the addresses.
class huge_pages {
 public:
  static constexpr std::uint32_t shift = 21;
  static constexpr std::uint64_t page_bytes = std::uint64_t{1} << shift;

  /// Throws `error` where this process may not know where its memory lies.
  huge_pages() : state_(of_process()) {}

  /// Zero-filled memory; up to 2 MiB lie in one piece on the bus. Throws `error` if no huge pages
  /// are left.
  memory_block allocate(std::size_t bytes) {
    const std::size_t whole = (std::max<std::size_t>(bytes, 1) + 4095) / 4096 * 4096;
    const std::lock_guard lock(state_->use);
    void* const at = whole >= page_bytes ? state_->map_pages(whole) : state_->take(whole);
    return memory_block(place::host, at, whole, 0,
                        [s = state_, whole](void* p) { s->give_back(p, whole); });
  }

  /// The address on the bus of each huge page, or part of one, that `bytes` at `memory` lie in.
  /// Throws `input_error` for other memory.
  std::vector<std::uint64_t> addresses(const void* memory, std::uint64_t bytes) const {
    const auto first = reinterpret_cast<std::uint64_t>(memory);
    const std::lock_guard lock(state_->use);
    if (!state_->owns(first, bytes)) {
      throw input_error(
          "memory for a device without an IOMMU has to lie in huge pages of its session, which the "
          "kernel does not move: let the session allocate it (session::allocate, arrays do), or "
          "bind the device to vfio-pci behind an IOMMU");
    }
    std::vector<std::uint64_t> found;
    for (std::uint64_t at = first & ~(page_bytes - 1); at < first + bytes; at += page_bytes)
      found.push_back(state_->address_of(at));
    return found;
  }

 private:
  /// Outlives the object with the last block of memory.
  struct state {
    std::mutex use;
    file_descriptor pagemap;
    address_pool parts;                            ///< of huge pages that small blocks share
    std::map<std::uint64_t, std::uint64_t> pages;  ///< mapped pieces: address, bytes

    ~state() {
      for (const auto& [at, bytes] : pages) ::munmap(reinterpret_cast<void*>(at), bytes);
    }
    void* map_pages(std::size_t bytes) {
      const std::size_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
      void* const at = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);
      if (at == MAP_FAILED) {
        throw error(fmt::format(
            "no {} huge pages of 2 MiB are free: echo N > /proc/sys/vm/nr_hugepages, with N the "
            "pages in use and {} more (grep Huge /proc/meminfo)",
            whole / page_bytes, whole / page_bytes));
      }
      pages.emplace(reinterpret_cast<std::uint64_t>(at), whole);
      return at;
    }
    void* take(std::size_t bytes) {
      auto at = parts.take(bytes);
      if (!at) {
        parts.give(reinterpret_cast<std::uint64_t>(map_pages(page_bytes)), page_bytes);
        at = parts.take(bytes);
      }
      return reinterpret_cast<void*>(*at);
    }
    void give_back(void* memory, std::size_t bytes) noexcept {
      const std::lock_guard lock(use);
      const auto at = reinterpret_cast<std::uint64_t>(memory);
      if (bytes >= page_bytes) {
        const auto it = pages.find(at);
        ::munmap(memory, it->second);
        pages.erase(it);
        return;
      }
      std::memset(memory, 0, bytes);
      parts.give(at, bytes);
    }
    bool owns(std::uint64_t first, std::uint64_t bytes) const {
      auto it = pages.upper_bound(first);
      if (it == pages.begin()) return false;
      --it;
      const std::uint64_t offset = first - it->first;
      return offset <= it->second && bytes <= it->second - offset;
    }
    /// Of a page that is present. Documentation/admin-guide/mm/pagemap.rst.
    std::uint64_t address_of(std::uint64_t at) const {
      std::uint64_t entry = 0;
      const auto offset = static_cast<off_t>(at / 4096 * sizeof entry);
      const bool read = ::pread(pagemap.get(), &entry, sizeof entry, offset) == sizeof entry;
      const std::uint64_t frame = entry & ((std::uint64_t{1} << 55) - 1);
      if (!read || (entry >> 63) == 0 || frame == 0) {
        throw error(
            "this process may not know where its memory lies (/proc/self/pagemap): run it as root, "
            "or bind the device to vfio-pci behind an IOMMU");
      }
      return frame * 4096;
    }
  };

  static std::shared_ptr<state> of_process() {
    static std::mutex use;
    static std::weak_ptr<state> newest;
    const std::lock_guard lock(use);
    if (auto living = newest.lock()) return living;
    auto fresh = std::make_shared<state>();
    fresh->pagemap = file_descriptor(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    if (!fresh->pagemap.is_open())
      throw error(fmt::format("reading /proc/self/pagemap: {}", std::strerror(errno)));
    newest = fresh;
    return fresh;
  }

  std::shared_ptr<state> state_;
};

}  // namespace gnstor::host::pcie
