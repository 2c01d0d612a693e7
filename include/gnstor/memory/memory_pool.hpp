#pragma once

#include <gnstor/memory/block_allocator.hpp>
#include <gnstor/memory/io_buffer.hpp>

namespace gnstor::inline v0 {

/// Registered memory of a channel, from which a kernel takes I/O buffers without the CPU.
///
/// A reference: trivially copyable. Registering memory with a NIC is slow, so the pool is
/// registered once and its buffers carry its keys (GNStor, section 4.2).
template <thread_scope Scope = thread_scope_device, class Levels = default_levels>
class memory_pool {
 public:
  using allocator_type = block_allocator<Scope, Levels>;

  /// The keys of the pool's memory region.
  struct keys {
    std::uint32_t lkey = 0;
    std::uint32_t rkey = 0;
  };

  /// @param address start of the pool, as this machine's code and its NIC see it
  GNSTOR_HD memory_pool(std::uint64_t address, keys region, allocator_type allocator)
      : address_(address), keys_(region), allocator_(allocator) {}

  /// Takes a buffer of exactly `bytes` bytes.
  /// @par Callers any lane, alone or with others; no convergence needed
  /// @par Order acquires, at `Scope`, what the memory's earlier owners did before they released it
  /// @par Bound that of `block_allocator::allocate`
  /// @par Errors those of `block_allocator::allocate`: invalid_argument, would_block
  GNSTOR_HD result<io_buffer> allocate(std::uint64_t bytes, effort how = effort::thorough) const {
    const result<extent> part = allocator_.allocate(bytes, how);
    if (!part) return part.status;
    return io_buffer{address_ + part.value.offset, bytes, keys_.lkey, keys_.rkey};
  }

  /// Gives a buffer back, whole: no slice of it.
  /// @par Callers any lane, alone or with others; no convergence needed
  /// @par Order releases, at `Scope`, the caller's use of the buffer to its next owners
  /// @par Bound that of `block_allocator::release`
  /// @par Errors invalid_argument: the buffer is not of this pool, by address or key, or not in
  /// use; nothing is changed. A debug build asserts instead
  GNSTOR_HD status release(const io_buffer& buffer) const {
    const bool ours = buffer.lkey == keys_.lkey && buffer.rkey == keys_.rkey;
    GNSTOR_ASSERT(ours);
    if (!ours) return status::make(status_code::invalid_argument, reporter::caller);
    return allocator_.release(extent{buffer.address - address_, buffer.bytes});
  }

  GNSTOR_HD const allocator_type& allocator() const { return allocator_; }
  /// The pool as one buffer, for example to register it or to hand a part of it to a peer.
  GNSTOR_HD io_buffer whole() const {
    return io_buffer{address_, allocator_.pool_bytes(), keys_.lkey, keys_.rkey};
  }

 private:
  std::uint64_t address_;
  keys keys_;
  allocator_type allocator_;
};

static_assert(std::is_trivially_copyable_v<memory_pool<>> && sizeof(memory_pool<>) == 32);

}  // namespace gnstor::inline v0
