#pragma once

#include <gnstor/memory/memory_pool.hpp>
#include <gnstor/memory/pool_table.hpp>

namespace gnstor::inline v0 {

/// Registered memory that the host makes larger while kernels run (GNStor, section 4.2).
///
/// A reference: trivially copyable. The pool is a list of regions, each a `memory_pool`. Older
/// regions are asked first, so that the newest and largest one keeps its large blocks whole. A
/// request that finds no room answers would_block at once and leaves a note for the host
/// (`host::pool_expander`), which adds a region; kernels see it at their next request.
/// @tparam Scope the threads that share the pool; the host is not among them
template <thread_scope Scope = thread_scope_device, class Levels = default_levels>
class expandable_pool {
 public:
  using region_type = memory_pool<Scope, Levels>;
  using allocator_type = typename region_type::allocator_type;

  /// @param table in memory of the kernels' device, with at least one region
  /// @param requests in memory of the kernels' device, or in host memory that they can write
  GNSTOR_HD expandable_pool(pool_table* table, pool_requests* requests)
      : table_(table), requests_(requests) {}

  /// The largest request that any region can hold.
  static constexpr std::uint64_t max_bytes = allocator_type::largest_request;

  /// Takes a buffer of exactly `bytes` bytes.
  /// @par Callers any lane, alone or with others; no convergence needed
  /// @par Order acquires, at `Scope`, what the memory's earlier owners did before they released it
  /// @par Bound that of `block_allocator::allocate`, for each region twice
  /// @par Errors invalid_argument: 0 bytes or more than `max_bytes`. would_block: no region has
  /// room now; the host has been asked, and may add one. Nothing is taken in either case.
  GNSTOR_HD result<io_buffer> allocate(std::uint64_t bytes) const {
    if (bytes == 0 || bytes > max_bytes)
      return status::make(status_code::invalid_argument, reporter::caller);
    const std::uint32_t count = regions();
    result<io_buffer> buffer = allocate_in(count, bytes, effort::quick);
    if (!buffer) buffer = allocate_in(count, bytes, effort::thorough);
    if (!buffer) ask(count, bytes);
    return buffer;
  }

  /// Gives a buffer back, whole: no slice of it.
  /// @par Callers any lane, alone or with others; no convergence needed
  /// @par Order releases, at `Scope`, the caller's use of the buffer to its next owners
  /// @par Bound that of `block_allocator::release`
  /// @par Errors invalid_argument: the buffer is of no region of this pool, or not in use; nothing
  /// is changed. A debug build asserts instead
  GNSTOR_HD status release(const io_buffer& buffer) const {
    const std::uint32_t count = regions();
    for (std::uint32_t k = 0; k < count; ++k) {
      const pool_region& here = table_->region[k];
      if (buffer.address - here.address < here.bytes) return region(k).release(buffer);
    }
    GNSTOR_ASSERT(!"a buffer of this pool");
    return status::make(status_code::invalid_argument, reporter::caller);
  }

  /// Regions that there are at this moment.
  /// @par Order acquires what the host wrote before it added the last of them
  GNSTOR_HD std::uint32_t regions() const {
    // Acquire: pairs with the release in host::pool_expander::publish().
    const std::uint32_t count = system_word<std::uint32_t>(table_->count).load(acquire);
    GNSTOR_VERIFY(count <= pool_table::max_regions);
    return count;
  }

  /// Region `k`, below `regions()`.
  GNSTOR_HD region_type region(std::uint32_t k) const {
    const pool_region& here = table_->region[k];
    return region_type(
        here.address, {here.lkey, here.rkey},
        allocator_type(reinterpret_cast<void*>(static_cast<std::uintptr_t>(here.bitmap)),
                       here.bytes));
  }

 private:
  /// Takes a buffer from the oldest of `count` regions that has room.
  GNSTOR_HD result<io_buffer> allocate_in(std::uint32_t count, std::uint64_t bytes,
                                          effort how) const {
    for (std::uint32_t k = 0; k < count; ++k) {
      const region_type here = region(k);
      if (bytes > here.allocator().max_bytes()) continue;
      const result<io_buffer> buffer = here.allocate(bytes, how);
      if (buffer) return buffer;
    }
    return status::make(status_code::would_block, reporter::none);
  }

  /// Asks the host once for each number of regions: its memory may be far away.
  GNSTOR_HD void ask(std::uint32_t count, std::uint64_t bytes) const {
    const device_word<std::uint32_t> asked(table_->asked_at);
    if (asked.load(relaxed) >= count || asked.fetch_max(count, relaxed) >= count) return;
    system_word<std::uint64_t>(requests_->bytes[count - 1]).store(bytes, relaxed);
  }

  pool_table* table_;
  pool_requests* requests_;
};

static_assert(std::is_trivially_copyable_v<expandable_pool<>> && sizeof(expandable_pool<>) == 16);

}  // namespace gnstor::inline v0
