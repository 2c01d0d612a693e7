#pragma once

#include <gnstor/core/assert.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/block_group.hpp>

#include <cuda/std/bit>

namespace gnstor::fw {

/// The threads of a block that serve a ring together, one per descriptor.
///
/// They run on the GPU whose kernels drive the ring, so that device scope is enough.
/// @par Callers of all members every thread of the block, converged
class block_team {
 public:
  static constexpr thread_scope scope = thread_scope_device;
  static constexpr std::uint32_t most_threads = 256;

  /// In the block's shared memory; nothing initialises it.
  struct room {
    simt::block_group::room word;
    std::uint64_t of_warp[most_threads / 32];
    std::uint64_t* place[most_threads];
    std::uint64_t value[most_threads];
    alignas(16) unsigned char shared[128];
  };
  /// What a thread finds before it, and in all.
  struct sums {
    std::uint64_t before;
    std::uint64_t all;
  };

  /// @par Callers a block of a power of two of threads, `most_threads` at most
  GNSTOR_HD explicit block_team(room& r)
      : room_(&r), block_(r.word), warp_(simt::group::warp()), rank_(block_.thread_rank()) {
    GNSTOR_ASSERT(size() <= most_threads && (size() & (size() - 1)) == 0);
  }

  GNSTOR_HD std::uint32_t rank() const { return rank_; }
  GNSTOR_HD std::uint32_t size() const { return block_.size(); }
  GNSTOR_HD bool leads() const { return rank_ == 0; }
  /// A barrier that orders memory among the threads.
  GNSTOR_HD void sync() const { block_.sync(); }

  /// The leader's `value`, at most 128 bytes. @par Order as `sync`, twice
  template <class T>
  GNSTOR_HD T share(const T& value) const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof room::shared);
    sync();  // nobody reads the last one any more
    if (leads()) *reinterpret_cast<T*>(room_->shared) = value;
    sync();
    return *reinterpret_cast<const T*>(room_->shared);
  }
  /// The sum of the values of lower ranks, and of all. @par Order as `sync`, twice
  GNSTOR_HD sums add_up(std::uint64_t value) const {
    std::uint64_t sum = value;
    const std::uint32_t lane = warp_.thread_rank();
    for (std::uint32_t step = 1; step < warp_.size(); step *= 2) {
      const std::uint64_t other = warp_.shfl(sum, static_cast<int>(lane < step ? 0 : lane - step));
      if (lane >= step) sum += other;
    }
    if (lane + 1 == warp_.size()) room_->of_warp[rank_ / 32] = sum;
    sync();
    sums s{sum - value, 0};
    for (std::uint32_t w = 0; w < warps(); ++w) {
      if (w == rank_ / 32) s.before += s.all;
      s.all += room_->of_warp[w];
    }
    sync();
    return s;
  }
  /// How many ranks from 0 on have `holds`, without a gap. @par Order as `sync`, twice
  GNSTOR_HD std::uint32_t leading(bool holds) const {
    const std::uint32_t mine = warp_.leading(holds);
    if (warp_.leads()) room_->of_warp[rank_ / 32] = mine;
    sync();
    std::uint32_t n = 0;
    for (std::uint32_t w = 0; w < warps(); ++w) {
      n += static_cast<std::uint32_t>(room_->of_warp[w]);
      if (n != (w + 1) * warp_.size()) break;
    }
    sync();
    return n;
  }
  /// Adds to counters, with one access per warp where its threads count the same.
  /// @param counter null: this thread counts nothing
  /// @par Order that of each access, for what its warp did before
  GNSTOR_HD void count(std::uint64_t* counter, std::uint64_t n = 1,
                       memory_order order = relaxed) const {
    const std::uint32_t counting = warp_.ballot(counter != nullptr);
    if (counting == 0) return;
    if (order != relaxed) warp_.sync();
    const auto mine = reinterpret_cast<std::uint64_t>(counter);
    const std::uint64_t one = warp_.shfl(mine, ::cuda::std::countr_zero(counting));
    if (!warp_.all(counter == nullptr || mine == one)) {
      if (counter != nullptr) word(*counter).fetch_add(n, order);
      return;
    }
    std::uint64_t sum = counter == nullptr ? 0 : n;
    for (std::uint32_t step = 1; step < warp_.size(); step *= 2)
      sum += warp_.shfl(sum, static_cast<int>((warp_.thread_rank() + step) % warp_.size()));
    if (warp_.leads() && sum != 0)
      word(*reinterpret_cast<std::uint64_t*>(one)).fetch_add(sum, order);
  }
  /// Compares values that were given in the order of ranks, each with those that came before it at
  /// its place: true if one of those is higher. Afterwards each place has its highest.
  /// @param place null: this thread has none
  /// @par Order as `sync`, twice
  GNSTOR_HD bool is_behind(std::uint64_t* place, std::uint64_t value) const {
    std::uint64_t highest = place == nullptr ? 0 : word(*place).load(relaxed);
    room_->place[rank_] = place;
    room_->value[rank_] = value;
    sync();
    bool is_last = place != nullptr;
    for (std::uint32_t k = 0; k < size(); ++k) {
      if (room_->place[k] != place) continue;
      if (k < rank_ && room_->value[k] > highest) highest = room_->value[k];
      is_last = is_last && k <= rank_;
    }
    if (is_last) word(*place).fetch_max(value > highest ? value : highest, relaxed);
    sync();
    return place != nullptr && value < highest;
  }

 private:
  GNSTOR_HD static atomic_ref<std::uint64_t, scope> word(std::uint64_t& w) {
    return atomic_ref<std::uint64_t, scope>(w);
  }
  GNSTOR_HD std::uint32_t warps() const { return (size() + 31) / 32; }

  room* room_;
  simt::block_group block_;
  simt::group warp_;
  std::uint32_t rank_;
};

static_assert(std::is_trivially_default_constructible_v<block_team::room>);

}  // namespace gnstor::fw
