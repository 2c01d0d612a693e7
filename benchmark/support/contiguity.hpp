#pragma once
/// A long churn of mixed sizes in a pool that stays 80 % full: how many requests are still served
/// as one contiguous block. The same body on the GPU and on the host.

#include "../baselines/buddy_allocator.hpp"
#include "../baselines/single_level_bitmap.hpp"
#include <gnstor/core/hash.hpp>
#include <gnstor/memory/block_allocator.hpp>

namespace gnstor::contiguity {

inline constexpr std::uint64_t page = 4096;
inline constexpr std::uint32_t most_pieces = 256;  ///< a request of 1 MiB in single pages

/// The requests: 70 % of 4 KiB, 25 % of 64 KiB, 5 % of 1 MiB, by count.
GNSTOR_HD constexpr std::uint32_t kind_of(std::uint64_t draw) {
  const std::uint64_t percent = draw % 100;
  return percent < 70 ? 0 : percent < 95 ? 1 : 2;
}
GNSTOR_HD constexpr std::uint64_t bytes_of(std::uint32_t kind) { return page << 4 * kind; }

/// What the churning threads saw. One in memory that all reach; zero at the start.
struct record {
  std::uint64_t asked[3] = {};   ///< requests by kind, while the pool was at its occupancy
  std::uint64_t whole[3] = {};   ///< of these, served as one contiguous block
  std::uint64_t unserved = 0;    ///< of these, not served even in pieces
  std::uint64_t overlaps = 0;    ///< pages in which another owner's mark stood
  std::uint64_t wrong = 0;       ///< parts of a wrong size, statuses that must not be
  std::uint64_t skipped = 0;     ///< draws that found no room within the occupancy
  std::uint64_t live_bytes = 0;  ///< what all threads hold together
};

/// One request that a thread holds: the parts that serve it.
struct holding {
  std::uint32_t kind;
  std::uint32_t pieces;
  std::uint32_t mark;
  std::uint32_t piece_bytes;
  std::uint32_t page_of[most_pieces];  ///< where each piece begins
};

struct plan {
  std::uint32_t requests = 1000;   ///< of each thread
  std::uint32_t warm_up = 500;     ///< of these, requests before anything is counted
  std::uint32_t slots = 1000;      ///< holdings of each thread at most
  std::uint64_t target_bytes = 0;  ///< occupancy
  std::uint32_t seed = 1;
};

/// Where the marks of the pages are: word 0 of each page of the pool itself, or an array of words.
struct page_marks {
  std::uint64_t* words;
  std::uint32_t stride;  ///< words from mark to mark
};

template <thread_scope Scope, class Levels>
GNSTOR_HD result<extent> request(const block_allocator<Scope, Levels>& from, std::uint64_t bytes,
                                 std::uint64_t) {
  return from.allocate(bytes);
}
template <thread_scope Scope>
GNSTOR_HD result<extent> request(const baseline::buddy_allocator<Scope>& from, std::uint64_t bytes,
                                 std::uint64_t) {
  return from.allocate(bytes);
}
/// Threads of one bitmap begin at random words, as its throughput needs.
template <thread_scope Scope>
GNSTOR_HD result<extent> request(const baseline::single_level_bitmap<Scope>& from,
                                 std::uint64_t bytes, std::uint64_t draw) {
  return from.allocate(bytes, static_cast<std::uint32_t>(draw));
}
/// The same bitmap, searched from its start on: better packed, all threads in the same words.
template <thread_scope Scope>
struct first_fit_bitmap : baseline::single_level_bitmap<Scope> {
  using baseline::single_level_bitmap<Scope>::single_level_bitmap;
};
template <thread_scope Scope>
GNSTOR_HD result<extent> request(const first_fit_bitmap<Scope>& from, std::uint64_t bytes,
                                 std::uint64_t) {
  return from.allocate(bytes);
}

/// What each thread of the churn does.
template <class Allocator>
class churn {
 public:
  struct shared {};

  explicit churn(plan p) : plan_(p) {}

  /// @param holdings `plan::slots` for each thread
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, Allocator pool, page_marks marks, holding* holdings,
                            record* seen) const {
    const std::uint32_t me = lane.global_thread();
    holding* const mine = holdings + std::uint64_t{me} * plan_.slots;
    std::uint64_t state = mix64((std::uint64_t{plan_.seed} << 32 | me) + 1);
    std::uint32_t held = 0;
    for (std::uint32_t k = 0; k < plan_.requests; ++k) {
      state = mix64(state + k + 1);
      const std::uint32_t kind = kind_of(state >> 8);
      held = make_room(lane, pool, marks, mine, held, state, bytes_of(kind), seen);
      if (held == no_room) {
        count(seen->skipped);
        held = 0;
        continue;
      }
      serve(pool, marks, mine[held], kind, state, me * plan_.requests + k + 1, k >= plan_.warm_up,
            seen);
      if (mine[held].pieces != 0) ++held;
    }
    for (std::uint32_t k = 0; k < held; ++k) drop(pool, marks, mine[k], seen);
  }

 private:
  static constexpr std::uint32_t no_room = 0xffffffff;

  GNSTOR_HD static void count(std::uint64_t& counter, std::uint64_t by = 1) {
    device_word<std::uint64_t>(counter).fetch_add(by, relaxed);
  }

  /// Drops random holdings until the request fits into the occupancy, and counts it in; how many
  /// holdings are left, or `no_room` if all are gone and others take too much.
  template <class Lane>
  GNSTOR_HD std::uint32_t make_room(Lane& lane, const Allocator& pool, page_marks marks,
                                    holding* mine, std::uint32_t held, std::uint64_t state,
                                    std::uint64_t bytes, record* seen) const {
    const device_word<std::uint64_t> live(seen->live_bytes);
    for (bounded n{plan_.slots + 100}; n;) {
      const bool fits = live.fetch_add(bytes, relaxed) + bytes <= plan_.target_bytes;
      if (fits && held < plan_.slots) return held;
      live.fetch_sub(bytes, relaxed);
      if (held == 0) {
        lane.pause();
        continue;
      }
      state = mix64(state + 1);
      const auto victim = static_cast<std::uint32_t>(state % held);
      drop(pool, marks, mine[victim], seen);
      mine[victim] = mine[--held];
    }
    for (std::uint32_t k = 0; k < held; ++k) drop(pool, marks, mine[k], seen);
    return no_room;
  }

  /// Serves a request by one block, or else by pieces of the next smaller size, or of pages.
  GNSTOR_HD void serve(const Allocator& pool, page_marks marks, holding& to, std::uint32_t kind,
                       std::uint64_t draw, std::uint32_t mark, bool counted, record* seen) const {
    to.kind = kind;
    to.mark = mark;
    to.pieces = 0;
    if (counted) count(seen->asked[kind]);
    for (std::uint32_t size = kind + 1; size-- != 0 && to.pieces == 0;) {
      take_pieces(pool, marks, to, bytes_of(kind), bytes_of(size), draw, seen);
      if (to.pieces != 0 && size == kind && counted) count(seen->whole[kind]);
    }
    if (to.pieces != 0) return;
    device_word<std::uint64_t>(seen->live_bytes).fetch_sub(bytes_of(kind), relaxed);
    if (counted) count(seen->unserved);
  }

  /// Takes `bytes` in pieces of `piece` bytes: all of them, or none.
  GNSTOR_HD void take_pieces(const Allocator& pool, page_marks marks, holding& to,
                             std::uint64_t bytes, std::uint64_t piece, std::uint64_t draw,
                             record* seen) const {
    to.piece_bytes = static_cast<std::uint32_t>(piece);
    for (std::uint64_t done = 0; done < bytes; done += piece) {
      const result<extent> part = request(pool, piece, draw >> 16);
      if (!part) {
        if (part.status.code != status_code::would_block) count(seen->wrong);
        give_back(pool, marks, to, seen);
        return;
      }
      if (part.value.bytes != piece || part.value.offset + piece > pool.pool_bytes())
        count(seen->wrong);
      to.page_of[to.pieces++] = static_cast<std::uint32_t>(part.value.offset / page);
      stamp(marks, part.value.offset, piece, 0, to.mark, seen);
    }
  }

  GNSTOR_HD void give_back(const Allocator& pool, page_marks marks, holding& from,
                           record* seen) const {
    for (std::uint32_t k = 0; k < from.pieces; ++k) {
      const std::uint64_t offset = from.page_of[k] * page;
      stamp(marks, offset, from.piece_bytes, from.mark, 0, seen);
      if (!pool.release({offset, from.piece_bytes}).ok()) count(seen->wrong);
    }
    from.pieces = 0;
  }

  GNSTOR_HD void drop(const Allocator& pool, page_marks marks, holding& from, record* seen) const {
    give_back(pool, marks, from, seen);
    device_word<std::uint64_t>(seen->live_bytes).fetch_sub(bytes_of(from.kind), relaxed);
  }

  /// Replaces the mark of every page of a part. Plain words: their owner alone may touch them.
  GNSTOR_HD static void stamp(page_marks marks, std::uint64_t offset, std::uint64_t bytes,
                              std::uint64_t expected, std::uint64_t mark, record* seen) {
    std::uint64_t strange = 0;
    for (std::uint64_t p = offset / page; p < (offset + bytes) / page; ++p) {
      std::uint64_t& word = marks.words[p * marks.stride];
      if (word != expected) ++strange;
      word = mark;
    }
    if (strange != 0) count(seen->overlaps, strange);
  }

  plan plan_;
};

}  // namespace gnstor::contiguity
