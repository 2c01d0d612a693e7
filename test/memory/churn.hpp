#pragma once
/// What every thread of an allocator test runs, on the host runtime and on the GPU.

#include <gnstor/memory/block_allocator.hpp>
#include <gnstor/simt/lane.hpp>

#include <cstdint>

namespace gnstor::test {

/// What churning threads saw. One in memory that all of them reach; zero at the start.
struct churn_record {
  std::uint32_t granted = 0;    ///< allocations that succeeded
  std::uint32_t refused = 0;    ///< answers would_block
  std::uint32_t misplaced = 0;  ///< parts too small, misaligned or outside the pool
  std::uint32_t not_ours = 0;  ///< parts in which another owner's mark stood, at the start or later
  std::uint32_t wrong_status = 0;
};

/// The marks of a pool's smallest blocks: who owns each. Zero at the start and when all parts are
/// released.
struct churn_marks {
  std::uint32_t* owner =
      nullptr;  ///< relaxed atomics: the weak mode sees a mark of an earlier owner
  std::uint32_t* payload =
      nullptr;  ///< plain words: ThreadSanitizer sees two owners without order between them
};

/// Allocates parts of all sizes, marks every block, checks the marks, and releases.
template <class Allocator>
struct churn {
  struct shared {};

  std::uint32_t rounds = 4;
  std::uint32_t largest = 1;  ///< bytes of the largest request, in smallest blocks
  std::uint32_t seed = 0;     ///< of the sizes
  bool uniform = false;  ///< all threads ask for the same size in a round: lanes share the work

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, Allocator allocator, churn_marks marks,
                            churn_record* record) const {
    const std::uint32_t me = lane.global_thread() + 1;
    std::uint32_t draw = ((uniform ? 1 : me) + seed * 0x10001u) * 2654435761u;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      draw = draw * 1664525u + 1013904223u;
      // Half of the requests are small; the others are of all sizes up to the largest.
      const std::uint32_t limit = (draw >> 30 & 1) != 0 ? 3 : largest;
      const std::uint64_t bytes = 1 + (draw >> 8) % (limit * Allocator::smallest_block);
      const result<extent> part = allocator.allocate(bytes);
      if (!part) {
        count(record->refused);
        if (part.status.code != status_code::would_block) count(record->wrong_status);
        lane.pause();
        continue;
      }
      count(record->granted);
      if (!fits(allocator, part.value, bytes)) {
        count(record->misplaced);
        continue;
      }
      use(lane, part.value, marks, me, record);
      if (!allocator.release(part.value).ok()) count(record->wrong_status);
    }
  }

 private:
  GNSTOR_HD static void count(std::uint32_t& counter) {
    device_word<std::uint32_t>(counter).fetch_add(1, relaxed);
  }

  GNSTOR_HD static bool fits(const Allocator& allocator, extent part, std::uint64_t bytes) {
    return part.bytes >= bytes && part.offset + part.bytes <= allocator.pool_bytes() &&
           part.offset % Allocator::smallest_block == 0;
  }

  /// Marks, lets others run, checks, and clears every block of a part.
  template <class Lane>
  GNSTOR_HD static void use(Lane& lane, extent part, churn_marks marks, std::uint32_t me,
                            churn_record* record) {
    const std::uint64_t first = part.offset / Allocator::smallest_block;
    const std::uint64_t last = first + part.bytes / Allocator::smallest_block;
    bool ours = true;
    for (std::uint64_t k = first; k < last; ++k) {
      ours = ours && exchange(marks, k, 0, me);
    }
    lane.pause();
    for (std::uint64_t k = first; k < last; ++k) {
      ours = ours && exchange(marks, k, me, 0);
    }
    if (!ours) count(record->not_ours);
  }

  /// Replaces a block's marks. Not one atomic operation: an owner needs none, and two owners must
  /// be able to collide.
  GNSTOR_HD static bool exchange(churn_marks marks, std::uint64_t block, std::uint32_t expected,
                                 std::uint32_t mark) {
    const device_word<std::uint32_t> owner(marks.owner[block]);
    const bool right = owner.load(relaxed) == expected && marks.payload[block] == expected;
    owner.store(mark, relaxed);
    marks.payload[block] = mark;
    return right;
  }
};

}  // namespace gnstor::test
