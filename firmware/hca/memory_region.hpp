#pragma once

#include <gnstor/simt/atomic_ref.hpp>

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
  GNSTOR_HD region_table(memory_region* regions, std::uint32_t count)
      : regions_(regions), count_(count) {}

  /// True if `key` opens [address, address + bytes) for `access` on a queue pair of `domain`.
  GNSTOR_HD bool allows(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                        std::uint32_t access, std::uint32_t domain) const {
    const std::uint32_t index = key >> 8;
    if (key == 0 || index >= count_) return false;
    memory_region& r = regions_[index];
    if (device_word<std::uint32_t>(r.key).load(acquire) != key) return false;
    return r.domain == domain && (r.access & access) == access && address >= r.base &&
           bytes <= r.bytes && address - r.base <= r.bytes - bytes;
  }

  GNSTOR_HD std::uint32_t count() const { return count_; }
  GNSTOR_HD memory_region* data() const { return regions_; }

 private:
  memory_region* regions_;
  std::uint32_t count_;
};

}  // namespace gnstor::fw
