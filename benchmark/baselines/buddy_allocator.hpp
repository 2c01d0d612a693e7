#pragma once

#include <gnstor/core/assert.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/memory/extent.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/clock.hpp>

namespace gnstor::baseline {

/// The allocator of CPU storage stacks (GNStor, section 4.2): a binary buddy system with a list of
/// free blocks for each size, under one lock.
///
/// Sizes are powers of two from 4 KiB to the pool. Everything but the lock is plain memory, touched
/// by the lock's holder only.
/// @tparam Scope the threads that share the allocator
template <thread_scope Scope>
class buddy_allocator {
  static constexpr std::uint32_t none = 0xffffffff;
  static constexpr std::uint32_t orders = 32;
  /// A block that is no start of a free block.
  static constexpr std::uint32_t not_free = 0xff;

  struct block {
    std::uint32_t next;
    std::uint32_t previous;
    std::uint32_t free_order;  ///< of the free block that starts here, or `not_free`
    std::uint32_t used_order;  ///< of the used block that starts here, or `not_free`
  };
  struct header {
    std::uint32_t lock;
    std::uint32_t head[orders];
  };

 public:
  static constexpr std::uint64_t block_bytes = 4096;

  GNSTOR_HD static constexpr std::uint64_t bytes_for(std::uint64_t pool_bytes) {
    return sizeof(header) + pool_bytes / block_bytes * sizeof(block) + 4;
  }

  /// Sets up an empty pool; `pool_bytes` is a power of two, at least 4096.
  static void format(void* memory, std::uint64_t pool_bytes) {
    GNSTOR_VERIFY(pool_bytes >= block_bytes && (pool_bytes & (pool_bytes - 1)) == 0);
    buddy_allocator pool(memory, pool_bytes);
    pool.head_->lock = 0;
    for (std::uint32_t k = 0; k < orders; ++k) pool.head_->head[k] = none;
    for (std::uint32_t k = 0; k < pool.count_; ++k)
      pool.blocks_[k] = block{none, none, not_free, not_free};
    pool.push(0, order_for(pool_bytes));
  }

  GNSTOR_HD buddy_allocator(void* memory, std::uint64_t pool_bytes)
      : head_(static_cast<header*>(memory)),
        blocks_(reinterpret_cast<block*>(head_ + 1)),
        count_(static_cast<std::uint32_t>(pool_bytes / block_bytes)) {}

  /// Takes the smallest power of two of blocks that holds `bytes` bytes.
  /// @par Order acquires, at `Scope`, what the block's earlier owners released
  /// @par Bound waits for the lock, a minute at most
  /// @par Errors invalid_argument: 0 bytes, or more than the pool. would_block: no such block is
  /// free. timed_out: the lock
  GNSTOR_HD result<extent> allocate(std::uint64_t bytes) const {
    if (bytes == 0 || bytes > pool_bytes())
      return status::make(status_code::invalid_argument, reporter::caller);
    const std::uint32_t order = order_for(bytes);
    result<extent> answer = status::make(status_code::timed_out, reporter::caller);
    (void)locked([&] {
      const std::uint32_t first = pop(order);
      if (first == none) {
        answer = status::make(status_code::would_block, reporter::none);
      } else {
        blocks_[first].used_order = order;
        answer = extent{first * block_bytes, block_bytes << order};
      }
    });
    return answer;
  }

  /// Gives back what `allocate` granted.
  /// @par Order releases, at `Scope`, the caller's use of the block
  /// @par Bound waits for the lock, a minute at most
  /// @par Errors invalid_argument: no block in use starts there, or one of another size. timed_out:
  /// the lock
  GNSTOR_HD status release(extent part) const {
    if (part.bytes == 0 || part.offset % block_bytes != 0 || part.offset >= pool_bytes() ||
        part.bytes > pool_bytes())
      return status::make(status_code::invalid_argument, reporter::caller);
    const auto first = static_cast<std::uint32_t>(part.offset / block_bytes);
    const std::uint32_t order = order_for(part.bytes);
    bool right = false;
    const bool held = locked([&] {
      right = blocks_[first].used_order == order;
      if (!right) return;
      blocks_[first].used_order = not_free;
      put(first, order);
    });
    if (!held) return status::make(status_code::timed_out, reporter::caller);
    return right ? status{} : status::make(status_code::invalid_argument, reporter::caller);
  }

  GNSTOR_HD std::uint64_t pool_bytes() const { return count_ * block_bytes; }
  /// Free bytes; exact while nobody else allocates or releases.
  GNSTOR_HD std::uint64_t free_bytes() const {
    std::uint64_t sum = 0;
    for (std::uint32_t k = 0; k < count_; ++k) {
      if (blocks_[k].free_order != not_free) sum += block_bytes << blocks_[k].free_order;
    }
    return sum;
  }

 private:
  GNSTOR_HD static std::uint32_t order_for(std::uint64_t bytes) {
    std::uint32_t order = 0;
    for (bounded n{orders - 1}; n && block_bytes << order < bytes;) ++order;
    return order;
  }

  /// Calls `work` under the lock; false if the lock was not free in time.
  template <class Work>
  GNSTOR_HD bool locked(const Work& work) const {
    const atomic_ref<std::uint32_t, Scope> lock(head_->lock);
    for (until wait{simt::within(60'000'000'000)}; wait;) {
      // Acquire: pairs with the release below by the last holder.
      if (lock.load(relaxed) != 0 || lock.exchange(1, acquire) != 0) continue;
      work();
      lock.store(0, gnstor::release);
      return true;
    }
    return false;
  }

  /// Takes a block of `order` from its list, or half of a larger one.
  GNSTOR_HD std::uint32_t pop(std::uint32_t order) const {
    std::uint32_t from = order;
    for (bounded n{orders}; n && from < orders && head_->head[from] == none;) ++from;
    if (from >= orders) return none;
    const std::uint32_t first = head_->head[from];
    unlink(first);
    for (bounded n{orders}; n && from > order;) {
      --from;
      push(first + (1u << from), from);
    }
    return first;
  }

  /// Frees a block together with its buddy, as far up as buddies are free.
  GNSTOR_HD void put(std::uint32_t first, std::uint32_t order) const {
    for (bounded n{orders}; n;) {
      const std::uint32_t buddy = first ^ (1u << order);
      if (buddy >= count_ || blocks_[buddy].free_order != order) break;
      unlink(buddy);
      first = first < buddy ? first : buddy;
      ++order;
    }
    push(first, order);
  }

  GNSTOR_HD void push(std::uint32_t first, std::uint32_t order) const {
    const std::uint32_t next = head_->head[order];
    blocks_[first].next = next;
    blocks_[first].previous = none;
    blocks_[first].free_order = order;
    if (next != none) blocks_[next].previous = first;
    head_->head[order] = first;
  }
  GNSTOR_HD void unlink(std::uint32_t first) const {
    const block it = blocks_[first];
    if (it.previous != none) {
      blocks_[it.previous].next = it.next;
    } else {
      head_->head[it.free_order] = it.next;
    }
    if (it.next != none) blocks_[it.next].previous = it.previous;
    blocks_[first].free_order = not_free;
  }

  header* head_;
  block* blocks_;
  std::uint32_t count_;
};

}  // namespace gnstor::baseline
