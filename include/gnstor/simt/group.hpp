#pragma once

#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/thread_position.hpp>
#include <gnstor/simt/warp.hpp>

#include <cuda/std/bit>

#include <cstring>
#include <type_traits>

namespace gnstor::simt {

/// Lanes of one warp that act together, on the GPU and in the host runtime alike.
///
/// Four bytes, trivially copyable: the set of lane numbers. Unlike `coalesced_group` it keeps lane
/// masks internally, so that a subset by key (`partition`) costs one `match_any` and no unpacking:
/// this is the hit path of an array. On a plain CPU thread outside the runtime the group is that
/// one thread.
class group {
 public:
  /// The lanes of this warp that run together here: any non-empty subset of those that reach this
  /// line.
  GNSTOR_HD static group active([[maybe_unused]] const char* file = __builtin_FILE(),
                                [[maybe_unused]] unsigned line = __builtin_LINE()) {
#if defined(__CUDA_ARCH__)
    return group(__activemask());
#else
    return group(current_hook ? current_hook->coalesce(file, line) : 1u);
#endif
  }

  /// All lanes of the warp; fewer than 32 in the last warp of a block of another size.
  /// @par Callers converged: every lane of the warp that has not exited
  GNSTOR_HD static group warp() {
    const std::uint32_t rest =
        gnstor::detail::threads_of_block() - (gnstor::detail::thread_index() & ~31u);
    return group(rest >= 32 ? 0xffffffffu : (1u << rest) - 1);
  }

  /// All 32 lanes of the warp, in a block of whole warps: what `warp` gives, and the compiler knows
  /// it.
  /// @par Callers converged: every lane of the warp
  GNSTOR_HD static group whole_warp() {
#if defined(__CUDA_ARCH__)
    return group(every_lane);
#else
    return warp();
#endif
  }

  /// This lane alone.
  GNSTOR_HD static group self() { return group(1u << lane()); }

  /// The lanes of `g`, whatever kind of group that is.
  /// @par Callers every lane of `g`, converged
  template <warp_group G>
  GNSTOR_HD static group of(const G& g) {
    if constexpr (std::is_same_v<G, group>) {
      return g;
    } else {
      std::uint32_t lanes = 0;
      for (std::uint32_t k = 0; k < g.size(); ++k)
        lanes |= 1u << g.shfl(lane(), static_cast<int>(k));
      return group(lanes);
    }
  }

  GNSTOR_HD explicit group(std::uint32_t lanes) : lanes_(lanes) {}

  GNSTOR_HD std::uint32_t lanes() const { return lanes_; }
  GNSTOR_HD std::uint32_t size() const {
    if (is_whole()) return 32;
    return static_cast<std::uint32_t>(::cuda::std::popcount(lanes_));
  }
  GNSTOR_HD std::uint32_t thread_rank() const {
    if (are_first()) return lane();
    return static_cast<std::uint32_t>(::cuda::std::popcount(lanes_ & ((1u << lane()) - 1)));
  }
  /// True in the lane of rank 0.
  GNSTOR_HD bool leads() const { return lane() == lowest(lanes_); }

  /// A barrier of the group that orders memory among its lanes.
  GNSTOR_HD void sync(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) const {
#if defined(__CUDA_ARCH__)
    meet();
#else
    (void)call(collective::sync, 0, 0, file, line);
#endif
  }

  GNSTOR_HD std::uint32_t ballot(int predicate, const char* file = __builtin_FILE(),
                                 unsigned line = __builtin_LINE()) const {
    return pack(ballot_lanes(predicate, file, line));
  }
  GNSTOR_HD bool any(int predicate, const char* file = __builtin_FILE(),
                     unsigned line = __builtin_LINE()) const {
    return ballot_lanes(predicate, file, line) != 0;
  }
  GNSTOR_HD bool all(int predicate, const char* file = __builtin_FILE(),
                     unsigned line = __builtin_LINE()) const {
    return ballot_lanes(!predicate, file, line) == 0;
  }

  /// The number of lanes for which `predicate` holds.
  GNSTOR_HD std::uint32_t count(int predicate, const char* file = __builtin_FILE(),
                                unsigned line = __builtin_LINE()) const {
    return static_cast<std::uint32_t>(::cuda::std::popcount(ballot_lanes(predicate, file, line)));
  }
  /// The number of ranks, from 0 on, for which `predicate` holds without a gap.
  GNSTOR_HD std::uint32_t leading(int predicate, const char* file = __builtin_FILE(),
                                  unsigned line = __builtin_LINE()) const {
    const std::uint32_t failed = ballot_lanes(!predicate, file, line);
    if (failed == 0) return size();
    return static_cast<std::uint32_t>(::cuda::std::popcount(lanes_ & ((1u << lowest(failed)) - 1)));
  }

  /// The value of the lane of rank `rank`. `T` is trivially copyable, at most 8 bytes.
  template <class T>
  GNSTOR_HD T shfl(T value, int rank, const char* file = __builtin_FILE(),
                   unsigned line = __builtin_LINE()) const {
    return from_lane(value, static_cast<int>(nth(static_cast<std::uint32_t>(rank))), file, line);
  }
  /// The value of the lane of rank 0.
  template <class T>
  GNSTOR_HD T broadcast(T value, const char* file = __builtin_FILE(),
                        unsigned line = __builtin_LINE()) const {
    return from_lane(value, static_cast<int>(lowest(lanes_)), file, line);
  }

  /// The greatest `value` of the group, in every lane.
  template <class T>
  GNSTOR_HD T greatest(T value, const char* file = __builtin_FILE(),
                       unsigned line = __builtin_LINE()) const {
    for (std::uint32_t step = 1; step < size(); step *= 2) {
      const std::uint32_t from = (thread_rank() + step) % size();
      const T other = shfl(value, static_cast<int>(from), file, line);
      if (other > value) value = other;
    }
    return value;
  }

  template <class T>
  GNSTOR_HD std::uint32_t match_any(T value, const char* file = __builtin_FILE(),
                                    unsigned line = __builtin_LINE()) const {
    return pack(match_lanes(value, file, line));
  }
  /// The lanes of this group that hold the same `key` as the calling lane.
  template <class T>
  GNSTOR_HD group partition(T key, const char* file = __builtin_FILE(),
                            unsigned line = __builtin_LINE()) const {
    return group(match_lanes(key, file, line));
  }

  /// Number of the calling lane within its warp.
  GNSTOR_HD static std::uint32_t lane() {
#if defined(__CUDA_ARCH__)
    std::uint32_t id;
    asm("mov.u32 %0, %%laneid;" : "=r"(id));
    return id;
#else
    return current_hook ? current_hook->position->thread % 32 : 0;
#endif
  }

 private:
  GNSTOR_HD static std::uint32_t lowest(std::uint32_t lanes) {
    return static_cast<std::uint32_t>(::cuda::std::countr_zero(lanes));
  }

  static constexpr std::uint32_t every_lane = 0xffffffffu;

  /// A whole warp, or a single lane: their collectives need no mask at run time. Every other mask
  /// costs hundreds of cycles a collective, because the hardware first finds out who shares it
  /// (measured on an H200).
  GNSTOR_HD bool is_whole() const { return lanes_ == every_lane; }
  GNSTOR_HD bool is_single() const { return (lanes_ & (lanes_ - 1)) == 0; }

#if defined(__CUDA_ARCH__)
  /// Brings the group's lanes together. A collective of only a part of a warp needs it besides, and
  /// its answer is masked: groups of one warp that do not know of each other may run together, and
  /// the compiler takes the mask of one of them for that of all (measured with CUDA 13.0: a vote
  /// then counts the other group's lanes, and does not wait).
  __device__ void meet() const {
    if (is_whole()) {
      __syncwarp();
    } else if (!is_single()) {
      __syncwarp(lanes_);
    }
  }
#endif

  GNSTOR_HD std::uint32_t ballot_lanes(int predicate, [[maybe_unused]] const char* file,
                                       [[maybe_unused]] unsigned line) const {
#if defined(__CUDA_ARCH__)
    if (is_whole()) return __ballot_sync(every_lane, predicate);
    if (is_single()) return predicate != 0 ? lanes_ : 0;
    meet();
    return __ballot_sync(lanes_, predicate) & lanes_;
#else
    return static_cast<std::uint32_t>(call(collective::ballot, predicate != 0, 0, file, line));
#endif
  }

  template <class T>
  GNSTOR_HD std::uint32_t match_lanes(T value, [[maybe_unused]] const char* file,
                                      [[maybe_unused]] unsigned line) const {
#if defined(__CUDA_ARCH__)
    using bits = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;
    const auto mine = static_cast<bits>(word(value));
    if (is_whole()) return __match_any_sync(every_lane, mine);
    if (is_single()) return lanes_;
    meet();
    return __match_any_sync(lanes_, mine) & lanes_;
#else
    return static_cast<std::uint32_t>(call(collective::match_any, word(value), 0, file, line));
#endif
  }

  template <class T>
  GNSTOR_HD T from_lane(T value, int source, [[maybe_unused]] const char* file,
                        [[maybe_unused]] unsigned line) const {
#if defined(__CUDA_ARCH__)
    using bits = std::conditional_t<sizeof(T) <= 4, std::uint32_t, unsigned long long>;
    const auto mine = static_cast<bits>(word(value));
    if (is_whole()) return value_of<T>(__shfl_sync(every_lane, mine, source));
    if (is_single()) return value;
    meet();
    return value_of<T>(__shfl_sync(lanes_, mine, source));
#else
    return value_of<T>(call(collective::shfl, word(value), source, file, line));
#endif
  }

  /// True if ranks are lane numbers: a whole warp, or the only warp of a small block.
  GNSTOR_HD bool are_first() const { return (lanes_ & (lanes_ + 1)) == 0; }
  /// Lane number of the lane of rank `rank`.
  GNSTOR_HD std::uint32_t nth(std::uint32_t rank) const {
    if (are_first()) return rank & 31;
#if defined(__CUDA_ARCH__)
    return __fns(lanes_, 0, static_cast<int>(rank) + 1);
#else
    std::uint32_t rest = lanes_;
    for (std::uint32_t k = 0; k < rank && rest != 0; ++k) rest &= rest - 1;
    return rest != 0 ? lowest(rest) : 31;
#endif
  }

  /// A lane mask as a mask by rank.
  GNSTOR_HD std::uint32_t pack(std::uint32_t mask) const {
    if (are_first()) return mask;
    std::uint32_t out = 0;
    std::uint32_t rank = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // far from every hot path, and at every collective
#endif
    for (std::uint32_t k = 0; k < 32; ++k) {
      if ((lanes_ >> k & 1) != 0) out |= (mask >> k & 1) << rank++;
    }
    return out;
  }

  template <class T>
  GNSTOR_HD static std::uint64_t word(T value) {
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
    std::uint64_t w = 0;
    memcpy(&w, &value, sizeof value);
    return w;
  }
  template <class T>
  GNSTOR_HD static T value_of(std::uint64_t w) {
    T value;
    memcpy(&value, &w, sizeof value);
    return value;
  }

#if !defined(__CUDA_ARCH__)
  std::uint64_t call(collective kind, std::uint64_t value, int source, const char* file,
                     unsigned line) const {
    if (current_hook) return current_hook->collective_call(kind, lanes_, value, source, file, line);
    return kind == collective::shfl || kind == collective::ballot ? value : 1;
  }
#endif

  std::uint32_t lanes_;
};

static_assert(warp_group<group> && std::is_trivially_copyable_v<group> && sizeof(group) == 4);

}  // namespace gnstor::simt
