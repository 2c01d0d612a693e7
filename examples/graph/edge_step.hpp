#pragma once
/// Steps of graph programs: kernels that visit edges, page by page, in the order of the pages.
///
/// A program is an aggregate with the words that it works on, in the memory of the machine that
/// runs the kernels, and five functions, which a lane calls for itself:
///   `active(w)`        bit k: the lists of vertex 32 w + k are to be visited
///   `retire(w)`        called once a step for every w
///   `carried(v, n)`    what v, which has n edges, gives to `visit` of each
///   `visit(v, carried, edge)`  true if the edge changed something
/// The steps are `list_step` on plain CSR, and `mark_chunks`, then `chunk_step`, on Balanced CSR.

#include "../support/is_there.hpp"
#include "graph_view.hpp"
#include <gnstor/core/result.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <cuda/std/bit>

#include <cstdint>
#include <utility>

namespace graph {

/// Counts of one step, added up by its lanes.
struct step_counts {
  std::uint64_t taken = 0;     ///< portions that warps took
  std::uint64_t marked = 0;    ///< chunks that hold edges to visit
  std::uint64_t changed = 0;   ///< visits that changed something
  std::uint64_t walked = 0;    ///< edges visited
  std::uint64_t accesses = 0;  ///< elements read through the views
  std::uint64_t failed = 0;    ///< reads that came back with an error, or with no vertex

  void add(const step_counts& o) {
    marked += o.marked;
    changed += o.changed;
    walked += o.walked;
    accesses += o.accesses;
    failed += o.failed;
  }
};

/// From which end a step goes through the edges. A step that goes against the order of the one
/// before begins with the pages that are there, because that one fetched them last; in the same
/// order it would find each page gone shortly before it comes to it.
enum class walk_order : std::uint8_t { forwards, backwards };

/// The `k`-th of `count` in that order.
GNSTOR_HD constexpr std::uint64_t nth_in(walk_order order, std::uint64_t k, std::uint64_t count) {
  return order == walk_order::backwards ? count - 1 - k : k;
}

namespace detail {

/// What a lane counts in one step: of each, fewer than 2^32.
struct lane_counts {
  std::uint32_t marked = 0;
  std::uint32_t changed = 0;
  std::uint32_t walked = 0;
  std::uint32_t accesses = 0;
  std::uint32_t failed = 0;
};

GNSTOR_HD inline void add_to(std::uint64_t& sum, std::uint64_t value) {
  if (value != 0) gnstor::device_word<std::uint64_t>(sum).fetch_add(value, gnstor::relaxed);
}

/// Adds what a lane counted to what all count.
GNSTOR_HD inline void add_up(step_counts& all, const lane_counts& mine) {
  add_to(all.marked, mine.marked);
  add_to(all.changed, mine.changed);
  add_to(all.walked, mine.walked);
  add_to(all.accesses, mine.accesses);
  add_to(all.failed, mine.failed);
}

/// Number of the portion that the warp takes next.
GNSTOR_HD inline std::uint64_t take(const gnstor::simt::group& warp, step_counts& all) {
  std::uint64_t portion = 0;
  if (warp.leads())
    portion = gnstor::device_word<std::uint64_t>(all.taken).fetch_add(1, gnstor::relaxed);
  return warp.broadcast(portion);
}

/// Words of 32 vertices.
GNSTOR_HD constexpr std::uint64_t words_of(std::uint64_t bits) { return (bits + 31) / 32; }

/// Indices from `first` up to `last`.
struct range {
  std::uint64_t first = 0;
  std::uint64_t last = ~std::uint64_t{0};

  GNSTOR_HD range within(const range& o) const {
    return {first < o.first ? o.first : first, last < o.last ? last : o.last};
  }
  GNSTOR_HD bool is_empty() const { return first >= last; }
};

/// Some of the 32 vertices of a word.
struct some_vertices {
  std::uint32_t base;
  std::uint32_t bits;  ///< bit k: vertex base + k
};

/// Two neighbouring elements of an array, as a range; or why they cannot be read.
template <class View>
GNSTOR_HD gnstor::result<range> load_two(const View& view, std::uint64_t index) {
  range both;
  // One place in the code where an element is read: what is behind it may be long.
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (std::uint64_t k = 0; k < 2; ++k) {
    const auto value = view.load(index + k);
    if (!value) return value.status;
    both = {both.last, value.value};
  }
  return both;
}

/// The edges of one vertex per lane; empty of one that is not asked for or cannot be read.
template <class Offsets>
GNSTOR_HD range edges_of(const Offsets& offsets, const some_vertices& some, std::uint32_t rank,
                         lane_counts& mine) {
  if ((some.bits >> rank & 1) == 0) return {0, 0};
  const gnstor::result<range> found = load_two(offsets, std::uint64_t{some.base} + rank);
  mine.accesses += 2;
  if (found) return found.value;
  ++mine.failed;
  return {0, 0};
}

/// A warp's walk over edges, on pages that it holds.
template <class Graph, class Program>
class edge_walk {
 public:
  GNSTOR_HD edge_walk(const gnstor::simt::group& warp, const Graph& graph, const Program& program)
      : warp_(warp), graph_(&graph), program_(&program), pages_(graph.pages()) {}

  /// Visits the edges of `some` that are in `part`.
  GNSTOR_HD void visit(const some_vertices& some, const range& part, lane_counts& mine) {
    const std::uint32_t rank = warp_.thread_rank();
    const range whole = edges_of(graph_->offsets, some, rank, mine);
    const range list = whole.within(part);
    const auto carried = list.is_empty()
                             ? decltype(program_->carried(0, 1)){}
                             : program_->carried(some.base + rank, whole.last - whole.first);
    for (std::uint32_t rest = warp_.ballot(!list.is_empty()); rest != 0; rest &= rest - 1) {
      const int k = cuda::std::countr_zero(rest);
      const range edges{warp_.shfl(list.first, k), warp_.shfl(list.last, k)};
      visit_list(some.base + static_cast<std::uint32_t>(k), warp_.shfl(carried, k), edges, mine);
    }
  }
  /// Gives its pages back.
  GNSTOR_HD void end() { pages_.release(warp_); }

 private:
  template <class Carried>
  GNSTOR_HD void visit_list(std::uint32_t v, const Carried& carried, const range& edges,
                            lane_counts& mine) {
    for (std::uint64_t at = edges.first; at < edges.last;) {
      if (!pages_.turn_to(warp_, at)) {
        if (warp_.leads()) ++mine.failed;
        return;
      }
      const std::uint64_t stop = pages_.end() < edges.last ? pages_.end() : edges.last;
      // Lanes start at a multiple of 32 elements: 128 bytes that one access of the warp reads.
      for (std::uint64_t k = (at & ~std::uint64_t{31}) + warp_.thread_rank(); k < stop; k += 32) {
        if (k < at) continue;
        const edge_end edge = pages_[k];
        ++mine.walked;
        mine.accesses += Graph::arrays_per_edge;
        if (edge.to >= graph_->vertices) {
          ++mine.failed;
        } else if (program_->visit(v, carried, edge)) {
          ++mine.changed;
        }
      }
      at = stop;
    }
  }

  gnstor::simt::group warp_;
  const Graph* graph_;
  const Program* program_;
  decltype(std::declval<const Graph&>().pages()) pages_;
};

}  // namespace detail

/// One step on plain CSR: a warp takes a portion of the vertices, each lane reads the offsets of
/// one, and the warp visits the lists one after the other.
///
/// Blocks are of whole warps, here and below.
template <class Graph, class Program>
struct list_step {
  /// @param span words of 32 vertices that a warp takes at a time, 1 to 32: more where few are set
  template <class Lane>
  GNSTOR_HD void operator()(Lane&, Graph graph, Program program, step_counts* all,
                            std::uint32_t span, walk_order order) const {
    const auto warp = gnstor::simt::group::whole_warp();
    const std::uint32_t rank = warp.thread_rank();
    const std::uint64_t words = detail::words_of(graph.vertices);
    const std::uint64_t portions = (words + span - 1) / span;
    detail::lane_counts mine;
    for (std::uint64_t p = detail::take(warp, *all); p < portions; p = detail::take(warp, *all)) {
      const std::uint64_t first = nth_in(order, p, portions) * span;
      const std::uint64_t w = first + rank;
      const bool has_word = rank < span && w < words;
      const std::uint32_t bits = has_word ? program.active(w) : 0;
      if (has_word) program.retire(w);
      for (std::uint32_t set = warp.ballot(bits != 0); set != 0; set &= set - 1) {
        const int k = cuda::std::countr_zero(set);
        const auto base = static_cast<std::uint32_t>((first + static_cast<std::uint32_t>(k)) * 32);
        // Its pages are given back before the next offsets are waited for.
        detail::edge_walk<Graph, Program> walk(warp, graph, program);
        walk.visit({base, warp.shfl(bits, k)}, {}, mine);
        walk.end();
      }
    }
    detail::add_up(*all, mine);
  }
};

/// Bits of the chunks that a step visits.
struct chunk_marks {
  std::uint64_t chunk_edges;  ///< see `balanced_view`
  std::uint32_t* bits;
};

/// The chunks that hold edges of active vertices get their bits. Comes before `chunk_step`.
template <class Graph, class Program>
struct mark_chunks {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, Graph graph, Program program, step_counts* all,
                            chunk_marks marks, walk_order order) const {
    const auto warp = gnstor::simt::group::whole_warp();
    const std::uint32_t rank = warp.thread_rank();
    const std::uint64_t words = detail::words_of(graph.vertices);
    const std::uint64_t portions = (words + 31) / 32;
    const auto [chunk_edges, chunk_bits] = marks;
    detail::lane_counts mine;
    for (std::uint64_t p = lane.global_thread() / 32; p < portions; p += lane.grid_threads() / 32) {
      const std::uint64_t first = nth_in(order, p, portions) * 32;
      const std::uint64_t w = first + rank;
      const std::uint32_t bits = w < words ? program.active(w) : 0;
      if (w < words) program.retire(w);
      for (std::uint32_t set = warp.ballot(bits != 0); set != 0; set &= set - 1) {
        const int k = cuda::std::countr_zero(set);
        const auto base = static_cast<std::uint32_t>((first + static_cast<std::uint32_t>(k)) * 32);
        const detail::range list =
            detail::edges_of(graph.offsets, {base, warp.shfl(bits, k)}, rank, mine);
        if (!list.is_empty()) {
          mine.marked +=
              mark({list.first / chunk_edges, (list.last - 1) / chunk_edges + 1}, chunk_bits);
        }
      }
    }
    detail::add_up(*all, mine);
  }

 private:
  /// Sets the bits of `chunks`, and returns how many were not set.
  GNSTOR_HD static std::uint32_t mark(const detail::range& chunks, std::uint32_t* bits) {
    std::uint32_t marked = 0;
    for (std::uint64_t c = chunks.first; c < chunks.last;) {
      const std::uint64_t next = (c / 32 + 1) * 32;
      const std::uint64_t stop = chunks.last < next ? chunks.last : next;
      const auto count = static_cast<std::uint32_t>(stop - c);
      const std::uint32_t wanted = (count == 32 ? ~0u : (1u << count) - 1) << c % 32;
      const gnstor::device_word<std::uint32_t> there(bits[c / 32]);
      if ((there.load(gnstor::relaxed) & wanted) != wanted)
        marked += static_cast<std::uint32_t>(
            cuda::std::popcount(wanted & ~there.fetch_or(wanted, gnstor::relaxed)));
      c = stop;
    }
    return marked;
  }
};

/// One step on Balanced CSR: a warp takes a chunk of edges, whosever they are.
/// @tparam Balanced `balanced_view`
template <class Balanced, class Program>
struct chunk_step {
  static constexpr std::uint32_t portion = 8;  ///< chunks that a warp takes at a time

  /// Leaves chunks to the next kernel whose page of neighbours would have to be fetched: before
  /// those come in, all that they may take the frames of has been visited.
  bool only_there = false;

  /// @param chunk_bits of `mark_chunks`, zero afterwards but for chunks that were left; null: all
  /// chunks
  template <class Lane>
  GNSTOR_HD void operator()(Lane&, Balanced g, Program program, step_counts* all,
                            std::uint32_t* chunk_bits, walk_order order) const {
    const auto warp = gnstor::simt::group::whole_warp();
    const std::uint64_t chunks = g.chunks();
    const std::uint64_t portions = (chunks + portion - 1) / portion;
    detail::lane_counts mine;
    for (std::uint64_t p = detail::take(warp, *all); p < portions; p = detail::take(warp, *all)) {
      const std::uint64_t first = nth_in(order, p, portions) * portion;
      for (std::uint32_t set = taken(warp, g, chunk_bits, first); set != 0; set &= set - 1) {
        const std::uint64_t chunk = first + static_cast<std::uint32_t>(cuda::std::countr_zero(set));
        if (chunk < chunks) visit_chunk(warp, g, program, chunk, mine);
      }
    }
    detail::add_up(*all, mine);
  }

 private:
  /// The portion's chunks that are marked, whose marks it takes.
  GNSTOR_HD std::uint32_t taken(const gnstor::simt::group& warp, const Balanced& g,
                                std::uint32_t* chunk_bits, std::uint64_t first) const {
    constexpr std::uint32_t whole = (1u << portion) - 1;
    if (chunk_bits == nullptr) return whole;
    const gnstor::device_word<std::uint32_t> word(chunk_bits[first / 32]);
    std::uint32_t bits = 0;
    if (warp.leads()) bits = word.load(gnstor::relaxed) >> first % 32 & whole;
    bits = warp.broadcast(bits);
    if (only_there && bits != 0) {
      const std::uint32_t rank = warp.thread_rank();
      bits = warp.ballot(rank < portion && (bits >> rank & 1) != 0 &&
                         support::is_there(g.graph.neighbours, (first + rank) * g.chunk_edges));
    }
    // Nobody else takes this portion; others of the word, they do.
    if (bits != 0 && warp.leads()) word.fetch_and(~(bits << first % 32), gnstor::relaxed);
    return bits;
  }

  template <class Graph>
  using walk_of = detail::edge_walk<Graph, Program>;

  GNSTOR_HD static void visit_chunk(const gnstor::simt::group& warp, const Balanced& g,
                                    const Program& program, std::uint64_t chunk,
                                    detail::lane_counts& mine) {
    // The vertices of its first edge and of the next chunk's.
    const gnstor::result<detail::range> found = detail::load_two(g.chunk_vertices, chunk);
    const auto first = static_cast<std::uint32_t>(found.value.first);
    const auto last = static_cast<std::uint32_t>(found.value.last);
    warp.sync();
    if (!warp.all(found && last < g.graph.vertices)) {
      if (warp.leads()) ++mine.failed;
      return;
    }
    if (warp.leads()) mine.accesses += 2;
    const detail::range edges{chunk * g.chunk_edges, (chunk + 1) * g.chunk_edges};
    // A warp that waits for offsets may hold a page of edges: nobody waits the other way round.
    walk_of<decltype(g.graph)> walk(warp, g.graph, program);
    for (std::uint64_t w = first / 32; w <= last / 32; ++w) {
      std::uint32_t bits = program.active(w);
      if (w == first / 32) bits &= ~0u << first % 32;
      if (w == last / 32) bits &= ~0u >> (31 - last % 32);
      if (bits != 0) walk.visit({static_cast<std::uint32_t>(w * 32), bits}, edges, mine);
    }
    walk.end();
  }
};

}  // namespace graph
