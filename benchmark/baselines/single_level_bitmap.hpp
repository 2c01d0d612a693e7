#pragma once

#include <gnstor/core/assert.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/memory/extent.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <cuda/std/bit>

namespace gnstor::baseline {

/// The allocator that GNStor, section 4.2, improves on: one bitmap of fixed-size blocks, claimed by
/// CAS.
///
/// A request of several blocks looks for neighbours over the whole pool; nothing keeps large runs
/// whole. Lock-free, each thread for itself.
/// @tparam Scope the threads that share the allocator
template <thread_scope Scope>
class single_level_bitmap {
 public:
  static constexpr std::uint64_t block_bytes = 4096;

  GNSTOR_HD static constexpr std::uint64_t bytes_for(std::uint64_t pool_bytes) {
    return (pool_bytes / block_bytes + 63) / 64 * 8;
  }

  /// Fills the bitmap of an empty pool; `pool_bytes` is a multiple of 64 blocks.
  static void format(void* memory, std::uint64_t pool_bytes) {
    GNSTOR_VERIFY(pool_bytes != 0 && pool_bytes % (64 * block_bytes) == 0);
    auto* word = static_cast<std::uint64_t*>(memory);
    for (std::uint64_t k = 0; k < bytes_for(pool_bytes) / 8; ++k) word[k] = ~std::uint64_t{0};
  }

  GNSTOR_HD single_level_bitmap(void* memory, std::uint64_t pool_bytes)
      : words_(static_cast<std::uint64_t*>(memory)),
        count_(static_cast<std::uint32_t>(bytes_for(pool_bytes) / 8)) {}

  /// Takes neighbouring blocks that hold `bytes` bytes.
  /// @param begin the word where the search begins: 0 packs the pool from its start on, a number
  /// that differs between threads keeps them apart
  /// @par Order acquires, at `Scope`, what the blocks' earlier owners released
  /// @par Bound two walks over the bitmap, 64 lost races
  /// @par Errors invalid_argument: 0 bytes, or more than the pool. would_block: no such run is free
  GNSTOR_HD result<extent> allocate(std::uint64_t bytes, std::uint32_t begin = 0) const {
    if (bytes == 0 || bytes > pool_bytes())
      return status::make(status_code::invalid_argument, reporter::caller);
    const auto blocks = static_cast<std::uint32_t>((bytes + block_bytes - 1) / block_bytes);
    std::uint32_t at = begin % count_ * 64;
    bool wrapped = false;
    for (bounded tries{std::uint64_t{2} * count_ + 64}; tries;) {
      const std::uint32_t first = blocks == 1 ? next_free(at) : next_run(at, blocks);
      if (first == none) {
        if (wrapped) break;
        wrapped = true;
        at = 0;
        continue;
      }
      if (take(first, blocks)) return extent{first * block_bytes, blocks * block_bytes};
      at = first;
    }
    return status::make(status_code::would_block, reporter::none);
  }

  /// Gives back what `allocate` granted, or any part of it.
  /// @par Order releases, at `Scope`, the caller's use of the blocks
  /// @par Errors invalid_argument: outside the pool or free already
  GNSTOR_HD status release(extent part) const {
    const auto blocks = static_cast<std::uint32_t>((part.bytes + block_bytes - 1) / block_bytes);
    bool right = part.offset % block_bytes == 0 && part.offset < pool_bytes() && blocks != 0 &&
                 blocks * block_bytes <= pool_bytes() - part.offset;
    if (right) right = put(static_cast<std::uint32_t>(part.offset / block_bytes), blocks);
    return right ? status{} : status::make(status_code::invalid_argument, reporter::caller);
  }

  GNSTOR_HD std::uint64_t pool_bytes() const { return count_ * 64 * block_bytes; }
  GNSTOR_HD std::uint64_t free_bytes() const {
    std::uint64_t blocks = 0;
    for (std::uint32_t w = 0; w < count_; ++w)
      blocks += static_cast<std::uint64_t>(cuda::std::popcount(at(w).load(relaxed)));
    return blocks * block_bytes;
  }

 private:
  static constexpr std::uint32_t none = 0xffffffff;

  GNSTOR_HD atomic_ref<std::uint64_t, Scope> at(std::uint32_t word) const {
    return atomic_ref<std::uint64_t, Scope>(words_[word]);
  }

  /// The bits of `word` that belong to blocks first .. first + count - 1.
  GNSTOR_HD static std::uint64_t mask_of(std::uint32_t word, std::uint32_t first,
                                         std::uint32_t count) {
    const std::uint32_t low = word * 64 > first ? word * 64 : first;
    const std::uint32_t high = word * 64 + 64 < first + count ? word * 64 + 64 : first + count;
    return (~std::uint64_t{0} >> (64 - (high - low))) << (low % 64);
  }

  /// The first free block at or above `block`.
  GNSTOR_HD std::uint32_t next_free(std::uint32_t block) const {
    for (std::uint32_t w = block / 64; w < count_; ++w) {
      std::uint64_t seen = at(w).load(relaxed);
      if (w == block / 64) seen &= ~std::uint64_t{0} << block % 64;
      if (seen != 0) return w * 64 + static_cast<std::uint32_t>(cuda::std::countr_zero(seen));
    }
    return none;
  }

  /// The start of the first run of `count` free blocks at or above `block`.
  GNSTOR_HD std::uint32_t next_run(std::uint32_t block, std::uint32_t count) const {
    std::uint32_t start = block;
    std::uint32_t k = block;
    std::uint64_t seen = 0;
    for (bounded steps{std::uint64_t{2} * count_ * 64}; steps && k < count_ * 64;) {
      if (k % 64 == 0 || k == block) seen = at(k / 64).load(relaxed);
      const std::uint64_t rest = seen >> k % 64;
      // As many free blocks as follow here, or as many used ones, at one step.
      const auto run = static_cast<std::uint32_t>((rest & 1) != 0 ? cuda::std::countr_one(rest)
                                                                  : cuda::std::countr_zero(rest));
      const std::uint32_t left = 64 - k % 64;
      const std::uint32_t step = run < left ? run : left;
      if ((rest & 1) == 0) start = k + step;
      k += step;
      if (k - start >= count) return start;
    }
    return none;
  }

  /// Takes all blocks of a run, or none.
  GNSTOR_HD bool take(std::uint32_t first, std::uint32_t count) const {
    for (std::uint32_t w = first / 64; w * 64 < first + count; ++w) {
      if (take_of(w, mask_of(w, first, count))) continue;
      const std::uint32_t taken = w * 64 > first ? w * 64 - first : 0;
      if (taken != 0) (void)put(first, taken);
      return false;
    }
    return true;
  }
  GNSTOR_HD bool take_of(std::uint32_t word, std::uint64_t mask) const {
    std::uint64_t seen = at(word).load(relaxed);
    for (bounded tries{64}; tries && (seen & mask) == mask;) {
      // Acquire: pairs with the release in put() of the blocks' last owner.
      if (at(word).compare_exchange(seen, seen & ~mask, acquire)) return true;
    }
    return false;
  }
  GNSTOR_HD bool put(std::uint32_t first, std::uint32_t count) const {
    bool right = true;
    for (std::uint32_t w = first / 64; w * 64 < first + count; ++w) {
      const std::uint64_t mask = mask_of(w, first, count);
      if ((at(w).load(relaxed) & mask) != 0) return false;
      // Release: pairs with the acquire in take_of() of the next owner.
      right = (at(w).fetch_or(mask, gnstor::release) & mask) == 0 && right;
    }
    return right;
  }

  std::uint64_t* words_;
  std::uint32_t count_;
};

}  // namespace gnstor::baseline
