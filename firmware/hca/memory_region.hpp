#pragma once

#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/fence.hpp>

#include <type_traits>

namespace gnstor::fw {

/// What a memory region allows.
enum region_access : std::uint32_t {
  local_write = 1,   ///< the NIC may write it for its owner's own requests (receives, RDMA READ)
  remote_read = 2,   ///< the peer may read it
  remote_write = 4,  ///< the peer may write it
};

/// Registered memory, as the NIC looks it up by key.
struct memory_region {
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
  std::uint32_t access = 0;
  std::uint32_t domain =
      0;  ///< protection domain: the keys of one client mean nothing on another's queue pair
  std::uint32_t key = 0;  ///< zero until the entry is complete: written last, cleared first
  std::uint32_t spare = 0;
};

static_assert(sizeof(memory_region) == 32 && std::is_trivially_copyable_v<memory_region>);

/// The NIC's table of memory regions. A key is index << 8 | generation, so that a freed key does
/// not open its successor.
class region_table {
 public:
  /// @param changes counts what was registered and withdrawn; null: nobody counts
  GNSTOR_HD region_table(memory_region* regions, std::uint32_t count,
                         std::uint32_t* changes = nullptr)
      : regions_(regions), changes_(changes), count_(count) {}

  /// True if `key` opens [address, address + bytes) for `access` on a queue pair of `domain`.
  GNSTOR_HD bool allows(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                        std::uint32_t access, std::uint32_t domain) const {
    const memory_region r = find(key);
    return r.key != 0 && opens(r, address, bytes, access, domain);
  }

  /// The region of `key`; its own key is 0 if there is none.
  GNSTOR_HD memory_region find(std::uint32_t key) const {
    memory_region r;
    const std::uint32_t index = key >> 8;
    if (key == 0 || index >= count_) return r;
    memory_region& there = regions_[index];
    const device_word<std::uint32_t> open(there.key);
    if (open.load(acquire) != key) return r;
    r.base = present(there.base);
    r.bytes = present(there.bytes);
    r.access = present(there.access);
    r.domain = present(there.domain);
    simt::fence<thread_scope_device>(acquire);
    // Withdrawn meanwhile, and perhaps another's: a key must not open its successor.
    r.key = open.load(relaxed) == key ? key : 0;
    return r;
  }

  /// Makes the withdrawn entry `index` region `r`, with its key.
  /// @par Callers one at a time, with `close`
  /// @par Order who finds the key finds all of the region, and who still looks at the one before
  /// finds nothing
  GNSTOR_HD void open(std::uint32_t index, const memory_region& r) const {
    memory_region& there = regions_[index];
    device_word<std::uint64_t>(there.base).store(r.base, release);
    device_word<std::uint64_t>(there.bytes).store(r.bytes, release);
    device_word<std::uint32_t>(there.access).store(r.access, release);
    device_word<std::uint32_t>(there.domain).store(r.domain, release);
    device_word<std::uint32_t>(there.key).store(r.key, release);
  }
  /// Withdraws entry `index`.
  GNSTOR_HD void close(std::uint32_t index) const {
    device_word<std::uint32_t>(regions_[index].key).store(0, release);
  }
  /// True if `r` opens [address, address + bytes) for `access` in `domain`.
  GNSTOR_HD static bool opens(const memory_region& r, std::uint64_t address, std::uint64_t bytes,
                              std::uint32_t access, std::uint32_t domain) {
    // No branches: it mostly holds.
    const bool may = (r.domain == domain) & ((r.access & access) == access);
    const bool fits = (address >= r.base) & (bytes <= r.bytes);
    return may & fits & (address - r.base <= r.bytes - bytes);
  }

  GNSTOR_HD bool counts_changes() const { return changes_ != nullptr; }
  /// How often the table has changed. @par Order none: what it tells of is looked up in order
  GNSTOR_HD std::uint32_t changes() const {
    return changes_ == nullptr ? 0 : device_word<std::uint32_t>(*changes_).load(relaxed);
  }

  GNSTOR_HD std::uint32_t count() const { return count_; }
  GNSTOR_HD memory_region* data() const { return regions_; }

 private:
  /// A relaxed load. On the GPU of a volatile word, which is one: the compiler addresses those by
  /// offset, atomics by a register each, and the engines have none left.
  template <class T>
  GNSTOR_HD static T present(T& field) {
#if defined(__CUDA_ARCH__)
    return *const_cast<const volatile T*>(&field);
#else
    return device_word<T>(field).load(relaxed);
#endif
  }

  memory_region* regions_;
  std::uint32_t* changes_;
  std::uint32_t count_;
};

}  // namespace gnstor::fw
