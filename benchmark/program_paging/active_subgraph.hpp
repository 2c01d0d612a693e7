#pragma once
/// Steps of graph programs that first copy the edges of their own vertices to the GPU, and of no
/// others: the way of Subway (Sabet, Zhao and Gupta, EuroSys 2020). Offsets stay on the GPU.

#include "../../examples/graph/graph_view.hpp"
#include "../../examples/graph/parallel.hpp"
#include "../../examples/graph/step_runner.hpp"
#include "../../examples/support/pointer_view.hpp"
#include <gnstor/simt/warp_number.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <future>
#include <type_traits>
#include <utility>
#include <vector>

namespace gnstor::benchmarks {

namespace subgraph {

inline constexpr std::uint32_t block_words = 32;  ///< words of 32 vertices that a warp takes
inline constexpr std::uint32_t block_vertices = 32 * block_words;

/// The lists of a step's vertices, one after the other, as kernels find them.
struct lists {
  const std::uint64_t* offsets;  ///< of the whole graph
  std::uint32_t vertices;        ///< of the whole graph
  std::uint32_t* bits;           ///< the step's vertices
  std::uint64_t* block_edges;    ///< per block of vertices: edges of the step; then its first one
  std::uint64_t* starts;  ///< per vertex, and at last: its first edge among those of the step

  GNSTOR_HD std::uint64_t degree(std::uint64_t v, std::uint32_t word) const {
    return v < vertices && (word >> v % 32 & 1) != 0 ? offsets[v + 1] - offsets[v] : 0;
  }
  /// Edges of the step that the 32 vertices of a word have.
  GNSTOR_HD std::uint64_t edges_of(std::uint64_t w, std::uint32_t word) const {
    std::uint64_t sum = 0;
    for (std::uint64_t v = w * 32; word != 0 && v < w * 32 + 32; ++v) sum += degree(v, word);
    return sum;
  }
  /// Calls `use(b)` for every block of vertices, a warp each.
  template <class Use>
  GNSTOR_HD void for_blocks(const Use& use) const {
    const std::uint64_t blocks = (std::uint64_t{vertices} + block_vertices - 1) / block_vertices;
    for (std::uint64_t b = simt::warp_number(); b < blocks; b += simt::warp_count()) use(b);
  }
  /// The vertex in [first, last] whose list has edge `edge` of the step.
  GNSTOR_HD std::uint32_t owner(std::uint64_t edge, std::uint32_t first, std::uint32_t last) const {
    while (first < last) {
      const std::uint32_t middle = last - (last - first) / 2;
      if (starts[middle] <= edge) {
        first = middle;
      } else {
        last = middle - 1;
      }
    }
    return first;
  }
};

/// Notes the step's vertices, and how many edges each block of them has.
template <class Program>
struct count_edges {
  template <class Lane>
  GNSTOR_HD void operator()(Lane&, Program program, lists l) const {
    const auto warp = simt::group::whole_warp();
    l.for_blocks([&](std::uint64_t b) {
      const std::uint64_t w = b * block_words + warp.thread_rank();
      const std::uint32_t word = w * 32 < l.vertices ? program.active(w) : 0;
      if (w * 32 < l.vertices) l.bits[w] = word;
      std::uint64_t sum = l.edges_of(w, word);
      for (std::uint32_t step = 16; step != 0; step /= 2)
        sum += warp.shfl(sum, static_cast<int>(warp.thread_rank() ^ step));
      if (warp.leads()) l.block_edges[b] = sum;
    });
  }
};

/// Finds where each vertex's list begins; `block_edges` has each block's first edge.
struct find_starts {
  template <class Lane>
  GNSTOR_HD void operator()(Lane&, lists l) const {
    const auto warp = simt::group::whole_warp();
    const std::uint32_t rank = warp.thread_rank();
    l.for_blocks([&](std::uint64_t b) {
      const std::uint64_t w = b * block_words + rank;
      const std::uint32_t word = w * 32 < l.vertices ? l.bits[w] : 0;
      const std::uint64_t mine = l.edges_of(w, word);
      std::uint64_t sum = mine;  // of this lane and those before
      for (std::uint32_t step = 1; step < 32; step *= 2) {
        const std::uint64_t before =
            warp.shfl(sum, static_cast<int>(rank < step ? 0 : rank - step));
        if (rank >= step) sum += before;
      }
      std::uint64_t at = l.block_edges[b] + sum - mine;
      for (std::uint64_t v = w * 32; v < w * 32 + 32 && v < l.vertices; ++v) {
        l.starts[v] = at;
        at += l.degree(v, word);
        if (v + 1 == l.vertices) l.starts[v + 1] = at;
      }
    });
  }
};

/// Edges `first` to `last` - 1 of the step, which are on the GPU at a time.
struct portion {
  std::uint64_t first;
  std::uint64_t last;
  std::uint64_t chunk_edges;

  GNSTOR_HD std::uint64_t chunks() const { return (last - first + chunk_edges - 1) / chunk_edges; }
};

/// Offsets within a portion, and the vertices of its chunks (see `graph::balanced_csr`).
struct cut_portion {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, lists l, portion p, std::uint64_t* offsets,
                            std::uint32_t* chunk_vertices) const {
    const std::uint64_t from = lane.global_thread(), step = lane.grid_threads();
    for (std::uint64_t v = from; v <= l.vertices; v += step) {
      const std::uint64_t start = l.starts[v];
      offsets[v] = start < p.first ? 0 : (start < p.last ? start : p.last) - p.first;
    }
    for (std::uint64_t c = from; c <= p.chunks(); c += step) {
      const std::uint64_t edge = p.first + c * p.chunk_edges;
      chunk_vertices[c] = l.owner(edge < p.last ? edge : p.last - 1, 0, l.vertices - 1);
    }
  }
};

/// Copies a portion's elements from where kernels reach host memory, a chunk per warp.
struct gather_elements {
  template <class Lane>
  GNSTOR_HD void operator()(Lane&, lists l, portion p, const std::uint32_t* chunk_vertices,
                            const std::uint32_t* from, std::uint32_t* to) const {
    constexpr std::uint32_t in_flight = 8;
    const std::uint32_t rank = simt::group::whole_warp().thread_rank();
    for (std::uint64_t c = simt::warp_number(); c < p.chunks(); c += simt::warp_count()) {
      const std::uint64_t begin = p.first + c * p.chunk_edges;
      const std::uint64_t end = begin + p.chunk_edges < p.last ? begin + p.chunk_edges : p.last;
      for (std::uint64_t k = begin + rank; k < end; k += 32 * in_flight) {
        std::uint32_t values[in_flight];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (std::uint32_t j = 0; j < in_flight; ++j) {
          const std::uint64_t edge = k + 32 * j < end ? k + 32 * j : end - 1;
          const std::uint32_t v = l.owner(edge, chunk_vertices[c], chunk_vertices[c + 1]);
          values[j] = from[l.offsets[v] + (edge - l.starts[v])];
        }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (std::uint32_t j = 0; j < in_flight; ++j) {
          if (k + 32 * j < end) to[k + 32 * j - p.first] = values[j];
        }
      }
    }
  }
};

}  // namespace subgraph

/// A graph in host memory.
struct host_graph {
  const std::uint64_t* offsets;
  const std::uint32_t* neighbours;
  const std::uint32_t* weights;  ///< null where there are none
  std::uint32_t vertices;
  std::uint64_t edges;
};

/// How a `copied_subgraph` is set up.
struct subgraph_options {
  std::uint64_t room = 0;            ///< edges that are on the GPU at a time; 0: all
  std::uint64_t chunk_edges = 1024;  ///< of the chunks that steps work on; 0: plain CSR
  std::uint32_t page_elements = 1024;
};

/// Gathers the edges of each step's vertices and runs the step on them.
/// @tparam Place `support::on_memory`; outlives it
template <class Place>
class copied_subgraph {
 public:
  using words = support::pointer_view<std::uint32_t>;
  using offsets_view = support::pointer_view<std::uint64_t>;

  /// What graph programs take for a graph.
  struct view {
    copied_subgraph* graph;
    bool by_cores;  ///< this machine's cores gather the edges, as in Subway; or kernels do
    template <class Runner, class Program>
    graph::step_counts step(Runner& runner, const Program& program, std::uint64_t active) const {
      return graph->step(runner, program, active, by_cores);
    }
  };

  copied_subgraph(Place& place, const host_graph& g, const subgraph_options& o)
      : graph_(g),
        options_(o),
        room_(std::clamp<std::uint64_t>(o.room == 0 ? g.edges : o.room, 1, g.edges)),
        blocks_((std::uint64_t{g.vertices} + subgraph::block_vertices - 1) /
                subgraph::block_vertices),
        block_starts_(blocks_ + 1),
        bits_(blocks_ * subgraph::block_words),
        offsets_(place.allocate((std::uint64_t{g.vertices} + 1) * 8)),
        starts_(place.allocate(offsets_.bytes())),
        cut_offsets_(place.allocate(offsets_.bytes())),
        active_bits_(place.allocate(bits_.size() * 4)),
        block_edges_(place.allocate(blocks_ * 8)),
        chunk_vertices_(place.allocate((room_ / chunk_edges() + 2) * 4)),
        neighbours_(place.allocate(room_ * 4)) {
    if (g.weights != nullptr) weights_ = place.allocate(room_ * 4);
    const bool gpu = host::this_machine == host::machine::gpu;
    staging_ = host::memory_block(gpu ? host::place::pinned : host::place::host, 2 * piece * 4);
  }

  /// Copies the offsets to the GPU: once, before the first step.
  void copy_offsets() const {
    offsets_.write(0, graph_.offsets, (std::uint64_t{graph_.vertices} + 1) * 8);
  }
  view seen(bool by_cores) { return {this, by_cores}; }
  /// Bytes copied to the GPU in all steps so far.
  std::uint64_t bytes_copied() const { return bytes_copied_; }

 private:
  using lists = subgraph::lists;
  using portion = subgraph::portion;
  static constexpr std::uint64_t piece = 8 << 20;  ///< edges that are gathered at a time

  std::uint64_t chunk_edges() const {
    return options_.chunk_edges == 0 ? 1024 : options_.chunk_edges;
  }
  template <class T>
  static T* at(const host::memory_block& b) {
    return static_cast<T*>(b.data());
  }

  template <class Runner, class Program>
  graph::step_counts step(Runner& runner, const Program& program, std::uint64_t active,
                          bool by_cores) {
    const lists l{at<std::uint64_t>(offsets_), graph_.vertices, at<std::uint32_t>(active_bits_),
                  at<std::uint64_t>(block_edges_), at<std::uint64_t>(starts_)};
    runner.run(subgraph::count_edges<Program>{}, program, l);
    read_blocks(by_cores);
    runner.run(subgraph::find_starts{}, l);
    const std::uint64_t all = block_starts_.back();
    graph::step_counts sum;
    std::uint64_t first = 0;
    do {  // also where there is no edge: every step retires the vertices of the one before
      const portion p{first, std::min(first + room_, all), chunk_edges()};
      runner.run(subgraph::cut_portion{}, l, p, at<std::uint64_t>(cut_offsets_),
                 at<std::uint32_t>(chunk_vertices_));
      const auto bring = [&](const std::uint32_t* from, const host::memory_block& to) {
        bytes_copied_ += (p.last - p.first) * 4;
        if (by_cores) return gather_by_cores(p, from, to);
        runner.run(subgraph::gather_elements{}, l, p, at<const std::uint32_t>(chunk_vertices_),
                   from, at<std::uint32_t>(to));
      };
      bring(graph_.neighbours, neighbours_);
      if (graph_.weights != nullptr) bring(graph_.weights, weights_);
      sum.add(step_on(runner, program, active, p.last - p.first));
      first = p.last;
    } while (first < all);
    return sum;
  }

  /// Runs the step on the edges that are there.
  template <class Runner, class Program>
  graph::step_counts step_on(Runner& runner, const Program& program, std::uint64_t active,
                             std::uint64_t edges) {
    const offsets_view offsets{at<std::uint64_t>(cut_offsets_), std::uint64_t{graph_.vertices} + 1,
                               std::max(options_.page_elements / 2, 1u)};
    const auto seen = [&](const host::memory_block& b, std::uint64_t count) {
      return words{at<std::uint32_t>(b), count, options_.page_elements};
    };
    const auto step_in_layout = [&](const auto& g) {
      if (options_.chunk_edges == 0) return runner.step(g, program, active);
      const graph::balanced_view<std::decay_t<decltype(g)>, words> chunked{
          g, seen(chunk_vertices_, chunk_vertices_.bytes() / 4), options_.chunk_edges, edges};
      return runner.step(chunked, program, active);
    };
    const words neighbours = seen(neighbours_, edges);
    if (graph_.weights == nullptr)
      return step_in_layout(
          graph::csr_view<offsets_view, words>{offsets, neighbours, graph_.vertices});
    return step_in_layout(graph::weighted_view<offsets_view, words, words>{
        offsets, neighbours, graph_.vertices, seen(weights_, edges)});
  }

  /// Learns how many edges each block has, and tells the GPU where they begin.
  void read_blocks(bool by_cores) {
    block_edges_.read(0, block_starts_.data() + 1, blocks_ * 8);
    block_starts_[0] = 0;
    for (std::uint64_t b = 0; b < blocks_; ++b) block_starts_[b + 1] += block_starts_[b];
    block_edges_.write(0, block_starts_.data(), blocks_ * 8);
    if (by_cores) active_bits_.read(0, bits_.data(), bits_.size() * 4);
  }

  /// Gathers piece by piece; a piece is copied to the GPU while the next one is gathered.
  void gather_by_cores(const portion& p, const std::uint32_t* from, const host::memory_block& to) {
    std::future<void> copied;  // of the piece before
    std::uint32_t* here = at<std::uint32_t>(staging_);
    std::uint32_t* next = here + piece;
    for (std::uint64_t first = p.first; first < p.last; first += piece) {
      const std::uint64_t last = std::min(first + piece, p.last);
      gather_lists(first, last, from, here);
      if (copied.valid()) copied.get();
      copied = std::async(std::launch::async, [=, &p, &to] {
        to.write((first - p.first) * 4, here, (last - first) * 4);
      });
      std::swap(here, next);
    }
    if (copied.valid()) copied.get();
  }
  /// Edges `first` to `last` - 1 of the step, by all cores.
  void gather_lists(std::uint64_t first, std::uint64_t last, const std::uint32_t* from,
                    std::uint32_t* to) const {
    const auto begin = block_starts_.begin();
    const auto b =
        static_cast<std::uint64_t>(std::upper_bound(begin, block_starts_.end(), first) - begin - 1);
    const auto end =
        static_cast<std::uint64_t>(std::lower_bound(begin, block_starts_.end(), last) - begin);
    graph::for_each_index(graph::worker_count(0), end - b,
                          [&](std::uint64_t k) { gather_block(b + k, first, last, from, to); });
  }
  void gather_block(std::uint64_t block, std::uint64_t first, std::uint64_t last,
                    const std::uint32_t* from, std::uint32_t* to) const {
    std::uint64_t at = block_starts_[block];
    if (at == block_starts_[block + 1]) return;
    for (std::uint64_t w = block * subgraph::block_words; w < (block + 1) * subgraph::block_words;
         ++w) {
      for (std::uint32_t set = bits_[w]; set != 0; set &= set - 1) {
        const std::uint64_t v = w * 32 + static_cast<std::uint32_t>(std::countr_zero(set));
        const std::uint64_t list = graph_.offsets[v], stop = at + graph_.offsets[v + 1] - list;
        const std::uint64_t a = std::max(at, first), z = std::min(stop, last);
        if (a < z) std::memcpy(to + (a - first), from + list + (a - at), (z - a) * 4);
        at = stop;
      }
    }
  }

  host_graph graph_;
  subgraph_options options_;
  std::uint64_t room_;
  std::uint64_t blocks_;
  std::vector<std::uint64_t> block_starts_;
  std::vector<std::uint32_t> bits_;
  host::memory_block offsets_, starts_, cut_offsets_, active_bits_, block_edges_;
  host::memory_block chunk_vertices_, neighbours_, weights_, staging_;
  std::uint64_t bytes_copied_ = 0;
};

}  // namespace gnstor::benchmarks
