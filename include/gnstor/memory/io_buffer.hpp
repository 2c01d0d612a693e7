#pragma once

#include <gnstor/core/assert.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// Registered memory that an I/O reads from or writes to, with the keys of its memory region.
///
/// A buffer carries its keys, so that a channel's own pool, an array's frames and a caller's memory
/// go through one path.
struct io_buffer {
  std::uint64_t address = 0;  ///< as this machine's code and its NIC see it; 0 is no buffer
  std::uint64_t bytes = 0;
  std::uint32_t lkey = 0;  ///< for work queue entries of this side's queue pair
  std::uint32_t rkey = 0;  ///< handed to the peer, big-endian in a keyed SGL

  /// The part of `part_bytes` bytes from `offset` on, with the same keys.
  GNSTOR_HD constexpr io_buffer slice(std::uint64_t offset, std::uint64_t part_bytes) const {
    GNSTOR_ASSERT(offset <= bytes && part_bytes <= bytes - offset);
    return io_buffer{address + offset, part_bytes, lkey, rkey};
  }

  /// The address as a pointer of this machine.
  GNSTOR_HD void* data() const { return reinterpret_cast<void*>(address); }

  GNSTOR_HD friend constexpr bool operator==(const io_buffer& a, const io_buffer& b) {
    return a.address == b.address && a.bytes == b.bytes && a.lkey == b.lkey && a.rkey == b.rkey;
  }
};

static_assert(sizeof(io_buffer) == 24 && std::is_trivially_copyable_v<io_buffer>);
static_assert(io_buffer{4096, 8192, 1, 2}.slice(4096, 512) == io_buffer{8192, 512, 1, 2});

}  // namespace gnstor::inline v0
