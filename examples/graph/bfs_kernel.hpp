#pragma once

#include "bfs_reference.hpp"
#include <gnstor/core/result.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/group.hpp>

#include <cuda/std/bit>

#include <cstdint>

namespace graph {

/// Counts of one level, added up by its lanes.
struct bfs_counts {
  std::uint64_t taken = 0;     ///< portions of the frontier that warps took
  std::uint64_t reached = 0;   ///< vertices that got a parent: the next frontier
  std::uint64_t walked = 0;    ///< edges whose far end was looked at
  std::uint64_t accesses = 0;  ///< elements read through the views
  std::uint64_t failed = 0;    ///< reads that came back with an error, or with no vertex
};

/// A search's words in the memory of the machine that runs the kernels.
///
/// A frontier is one bit per vertex, so that a level is walked in the order of the pages: each page
/// comes in once a level however the vertices were found.
struct bfs_state {
  std::uint32_t* parents;   ///< `unreached` where nobody has come
  std::uint32_t* frontier;  ///< the vertices of this level; zero when the level is done
  std::uint32_t* next;      ///< the vertices of the next level; zero when this one starts
  bfs_counts* counts;
  std::uint32_t vertices;
  std::uint32_t words;  ///< of a frontier, 32 vertices each
  std::uint32_t span;   ///< words that a warp takes at a time, 1 to 32: more where few bits are set
};

/// One level of a breadth-first search, top down: gives the frontier's neighbours a parent.
///
/// A warp takes a portion of the frontier, each lane reads the offsets of one vertex, and the warp
/// walks the lists one after the other on pages that it holds. Blocks whose size is no multiple of
/// 32 are not allowed.
/// @tparam Offsets, Neighbours views of arrays, whatever they lie on
template <class Offsets, class Neighbours>
struct bfs_level {
  using pinned = typename Neighbours::pinned;
  using word = gnstor::device_word<std::uint32_t>;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, Offsets offsets, Neighbours neighbours, bfs_state s) const {
    const gnstor::simt::group warp = lane.warp();
    const std::uint32_t rank = warp.thread_rank();
    bfs_counts mine;
    for (std::uint64_t first = take(warp, s); first < s.words; first = take(warp, s)) {
      const std::uint64_t w = first + rank;
      std::uint32_t bits = 0;
      if (rank < s.span && w < s.words) bits = s.frontier[w];
      if (bits != 0) s.frontier[w] = 0;
      for (std::uint32_t set = warp.ballot(bits != 0); set != 0; set &= set - 1) {
        const int k = cuda::std::countr_zero(set);
        const auto base = static_cast<std::uint32_t>((first + static_cast<std::uint32_t>(k)) * 32);
        walk_vertices(warp, offsets, neighbours, s, {base, warp.shfl(bits, k)}, mine);
      }
    }
    add(s.counts->reached, mine.reached);
    add(s.counts->walked, mine.walked);
    add(s.counts->accesses, mine.accesses);
    add(s.counts->failed, mine.failed);
  }

 private:
  struct vertices {
    std::uint32_t base;
    std::uint32_t bits;  ///< bit k: vertex base + k
  };

  /// The first word of the warp's next portion.
  GNSTOR_HD static std::uint64_t take(const gnstor::simt::group& warp, const bfs_state& s) {
    std::uint64_t portion = 0;
    if (warp.leads()) {
      portion = gnstor::device_word<std::uint64_t>(s.counts->taken).fetch_add(1, gnstor::relaxed);
    }
    return warp.broadcast(portion) * s.span;
  }

  /// Walks the lists of up to 32 neighbouring vertices, which lie on few pages.
  GNSTOR_HD static void walk_vertices(const gnstor::simt::group& warp, const Offsets& offsets,
                                      const Neighbours& neighbours, const bfs_state& s,
                                      vertices some, bfs_counts& mine) {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    if ((some.bits >> warp.thread_rank() & 1) != 0) {
      const std::uint64_t v = some.base + warp.thread_rank();
      const gnstor::result<std::uint64_t> from = offsets.load(v);  // offsets[v], or why not
      const gnstor::result<std::uint64_t> to = offsets.load(v + 1);
      mine.accesses += 2;
      if (from && to) {
        first = from.value;
        last = to.value;
      } else {
        ++mine.failed;
      }
    }
    warp.sync();
    pinned page;  // holds no element yet
    for (std::uint32_t rest = some.bits; rest != 0; rest &= rest - 1) {
      const int k = cuda::std::countr_zero(rest);
      const std::uint64_t end = warp.shfl(last, k);
      for (std::uint64_t at = warp.shfl(first, k); at < end;) {
        if (!page.holds(at) && !turn_to(warp, neighbours, at, page)) {
          if (warp.leads()) ++mine.failed;
          break;
        }
        const std::uint64_t page_end = page.first + page.count;
        const std::uint64_t stop = end < page_end ? end : page_end;
        walk_list(warp, s, {page, at, stop, some.base + static_cast<std::uint32_t>(k)}, mine);
        at = stop;
      }
    }
    if (page.count != 0) neighbours.release_page(warp, page);
  }

  /// Lets go of the page it holds and gets the one of element `at`. One page per warp at a time, so
  /// that no warp waits for a frame while it keeps one from another.
  GNSTOR_HD static bool turn_to(const gnstor::simt::group& warp, const Neighbours& neighbours,
                                std::uint64_t at, pinned& page) {
    if (page.count != 0) neighbours.release_page(warp, page);
    const auto found = neighbours.acquire_page(warp, at);
    page = found.value;
    return static_cast<bool>(found);
  }

  struct list_part {
    const pinned& page;
    std::uint64_t first;
    std::uint64_t last;
    std::uint32_t vertex;
  };

  GNSTOR_HD static void walk_list(const gnstor::simt::group& warp, const bfs_state& s,
                                  const list_part& part, bfs_counts& mine) {
    for (std::uint64_t k = part.first + warp.thread_rank(); k < part.last; k += warp.size()) {
      const std::uint32_t v = part.page[k];
      ++mine.walked;
      ++mine.accesses;
      if (v >= s.vertices) {
        ++mine.failed;
      } else if (claim(s, v, part.vertex)) {
        ++mine.reached;
      }
    }
  }

  /// True for the one lane that gives `v` its parent.
  GNSTOR_HD static bool claim(const bfs_state& s, std::uint32_t v, std::uint32_t parent) {
    const word there(s.parents[v]);
    std::uint32_t nobody = unreached;
    if (there.load(gnstor::relaxed) != nobody) return false;
    // Kernels end before anybody reads what a level wrote: no order is needed within it.
    if (!there.compare_exchange(nobody, parent, gnstor::relaxed)) return false;
    word(s.next[v / 32]).fetch_or(1u << v % 32, gnstor::relaxed);
    return true;
  }

  GNSTOR_HD static void add(std::uint64_t& sum, std::uint64_t value) {
    if (value != 0) gnstor::device_word<std::uint64_t>(sum).fetch_add(value, gnstor::relaxed);
  }
};

}  // namespace graph
