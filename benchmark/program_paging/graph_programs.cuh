#pragma once
/// BFS, CC and SSSP on every peer, on Balanced CSR.

#include "checks.cuh"
#include "graph/bfs_search.hpp"
#include "graph/cc_search.hpp"
#include "graph/graph_view.hpp"
#include "graph/sssp_search.hpp"
#include "peers.cuh"
#include "support/memory_array.hpp"

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace gnstor::benchmarks {

inline std::uint32_t page_bytes() {
  return static_cast<std::uint32_t>(setting("GNSTOR_PAGE_BYTES", 4096));
}
inline std::uint32_t frames_percent() {
  return static_cast<std::uint32_t>(setting("GNSTOR_FRAMES_PERCENT", 25));
}

/// How the examples' drivers start kernels here.
inline support::kernel_shape shape() {
  support::kernel_shape run;
  run.grid = static_cast<std::uint32_t>(setting("GNSTOR_GRID", blocks));
  run.block = static_cast<std::uint32_t>(setting("GNSTOR_BLOCK", 128));
  return run;
}

/// Searches a graph whose arrays kernels see as these, in chunks or, with GNSTOR_CHUNKS=0, in
/// lists.
template <bool Weighted, class Search, class Offsets, class Words>
graph::search_outcome search_graph(const Search& search, const peer_graph& g,
                                   const Offsets& offsets,
                                   const std::array<Words, 3>& neighbours_weights_chunks) {
  const auto& [neighbours, weights, chunks] = neighbours_weights_chunks;
  const auto searched = [&](const auto& lists) {
    if (setting("GNSTOR_CHUNKS", 1) == 0) return search(lists);
    return search(graph::balanced_view<std::decay_t<decltype(lists)>, Words>{
        lists, chunks, peer_graph::chunk_edges, g.edges()});
  };
  if constexpr (Weighted) {
    return searched(
        graph::weighted_view<Offsets, Words, Words>{offsets, neighbours, g.vertices(), weights});
  } else {
    return searched(graph::csr_view<Offsets, Words>{offsets, neighbours, g.vertices()});
  }
}

/// One run of a graph program on new arrays.
template <bool Weighted, class Search>
run_figures run_on_arrays(peer_graph& g, const Search& search) {
  const std::uint32_t page = page_bytes(), percent = frames_percent();
  const auto offsets = g.offsets().array(page, percent);
  const auto neighbours = g.neighbours().array(page, percent);
  const auto chunks = g.chunks().array(page, percent);
  const auto weights = Weighted ? g.weights().array(page, percent) : nullptr;
  const auto words_view = neighbours->view();
  const graph::search_outcome out = search_graph<Weighted>(
      search, g, offsets->view(),
      std::array{words_view, Weighted ? weights->view() : words_view, chunks->view()});
  run_figures f{out.seconds, 0, static_cast<double>(out.counts.walked)};
  for (auto* words : {neighbours.get(), chunks.get(), weights.get()}) {
    if (words == nullptr) continue;
    f.bytes_moved += bytes_moved(*words, page);
    words->close();
  }
  f.bytes_moved += bytes_moved(*offsets, page);
  offsets->close();
  return f;
}

/// One run of a graph program on memory that needs no array.
/// @param at gives, of an array's `peer_data`, the pointer that the peer uses
template <bool Weighted, class Search, class At>
run_figures run_on_pointers(peer_graph& g, const Search& search, const At& at) {
  const std::uint32_t page = page_bytes();
  const auto seen = [&](auto& data) { return data.pointer(at(data), page); };
  const auto neighbours = seen(g.neighbours());
  const graph::search_outcome out = search_graph<Weighted>(
      search, g, seen(g.offsets()),
      std::array{neighbours, Weighted ? seen(g.weights()) : neighbours, seen(g.chunks())});
  return {out.seconds, 0, static_cast<double>(out.counts.walked)};
}

/// @param search called with what kernels see of the graph; returns a `search_outcome` and throws
/// if the result is wrong
template <bool Weighted, class Search>
run_figures run_graph(peer_graph& g, peer p, const Search& search) {
  switch (p) {
    case peer::array: return run_on_arrays<Weighted>(g, search);
    case peer::uvm:
    case peer::uvm_advised:
      return run_on_pointers<Weighted>(
          g, search, [&](auto& data) { return data.managed(p == peer::uvm_advised); });
    case peer::zero_copy:
      return run_on_pointers<Weighted>(g, search, [](auto& data) { return data.host(); });
    case peer::bulk: break;
  }
  const double copied = seconds_of([&] {
    g.offsets().upload();
    g.neighbours().upload();
    g.chunks().upload();
    if (Weighted) g.weights().upload();
  });
  run_figures f = run_on_pointers<Weighted>(g, search, [](auto& data) { return data.device(); });
  f.seconds += copied;
  return f;
}

/// The graph that the next benchmarks run on: one at a time.
inline peer_graph& graph_of(bool uniform) {
  static std::unique_ptr<peer_graph> there;
  static bool is_uniform = false;
  if (there == nullptr || is_uniform != uniform) {
    there.reset();
    there = std::make_unique<peer_graph>(
        graph::kronecker_options{.scale = static_cast<unsigned>(setting("GNSTOR_SCALE", 24)),
                                 .degree = static_cast<unsigned>(setting("GNSTOR_DEGREE", 16)),
                                 .uniform = uniform});
    is_uniform = uniform;
  }
  return *there;
}

inline void require_reads(const graph::search_outcome& out) {
  if (out.counts.failed != 0) throw std::runtime_error("reads failed");
}

inline constexpr figure_names edges{"G_edges_per_s", "bytes_per_edge"};

inline void bfs(benchmark::State& state, bool uniform) {
  peer_graph& g = graph_of(uniform);
  support::on_memory place;
  graph::bfs_search<support::on_memory> program(place, g.vertices(), shape());
  compare_peers(state, edges, [&](peer p, std::uint32_t round) {
    return run_graph<false>(g, p, [&](const auto& view) {
      const std::uint32_t source = g.source(round);
      const auto out = program.search(source, view, [](const auto&, auto) {});
      require_reads(out);
      check_bfs(g, source, program.data());
      state.counters["steps"] = out.steps;
      return out;
    });
  });
  state.counters["edges"] = static_cast<double>(g.edges());
}

inline void sssp(benchmark::State& state, bool uniform) {
  peer_graph& g = graph_of(uniform);
  support::on_memory place;
  graph::sssp_search<support::on_memory> program(place, g.vertices(), shape());
  compare_peers(state, edges, [&](peer p, std::uint32_t round) {
    return run_graph<true>(g, p, [&](const auto& view) {
      const std::uint32_t source = g.source(round);
      const auto out = program.search(source, view, [](const auto&, auto) {});
      require_reads(out);
      check_sssp(g, source, program.data());
      state.counters["steps"] = out.steps;
      return out;
    });
  });
  state.counters["edges"] = static_cast<double>(g.edges());
}

inline void cc(benchmark::State& state, bool uniform) {
  peer_graph& g = graph_of(uniform);
  const auto right = spread_all_labels(g);
  support::on_memory place;
  graph::cc_search<support::on_memory> program(place, g.vertices(), shape());
  compare_peers(state, edges, [&](peer p, std::uint32_t) {
    return run_graph<false>(g, p, [&](const auto& view) {
      const auto out = program.search(view, false);
      require_reads(out);
      check_cc(g, right->data(), program.data());
      return out;
    });
  });
  state.counters["edges"] = static_cast<double>(g.edges());
}

}  // namespace gnstor::benchmarks
