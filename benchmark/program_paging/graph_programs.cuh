#pragma once
/// BFS, CC and SSSP on every peer, on Balanced CSR.

#include "active_subgraph.hpp"
#include "checks.cuh"
#include "graph/bfs_search.hpp"
#include "graph/cc_search.hpp"
#include "graph/graph_view.hpp"
#include "graph/sssp_search.hpp"
#include "peers.cuh"
#include "support/memory_array.hpp"

#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace gnstor::benchmarks {

inline std::uint32_t page_bytes() {
  return static_cast<std::uint32_t>(setting("GNSTOR_PAGE_BYTES", 4096));
}
/// The share of an array's data that its frames hold.
inline double frames_share() {
  return static_cast<double>(setting("GNSTOR_FRAMES_PERCENT", 25)) / 100;
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
/// @param share of their data that the arrays' frames hold
template <bool Weighted, class Search>
run_figures run_on_arrays(peer_graph& g, const Search& search, double share) {
  const std::uint32_t page = page_bytes();
  const auto offsets = g.offsets().array(page, share);
  const auto neighbours = g.neighbours().array(page, share);
  const auto chunks = g.chunks().array(page, share);
  const auto weights = Weighted ? g.weights().array(page, share) : nullptr;
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

/// Graph programs whose steps copy their edges to the GPU, which has room for all of them.
template <bool Weighted>
class copied_steps {
 public:
  explicit copied_steps(peer_graph& g)
      : subgraph_(place_,
                  {g.offsets().host(), g.neighbours().host(),
                   Weighted ? g.weights().host() : nullptr, g.vertices(), g.edges()},
                  {.room = room_of(g.edges()),
                   .chunk_edges = setting("GNSTOR_CHUNKS", 1) == 0 ? 0 : peer_graph::chunk_edges,
                   .page_elements = page_bytes() / 4}) {}

  /// One run: offsets are copied before.
  template <class Search>
  run_figures run(const Search& search, bool by_cores) {
    const double copied = seconds_of([&] { subgraph_.copy_offsets(); });
    const graph::search_outcome out = search(subgraph_.seen(by_cores));
    return {copied + out.seconds, 0, static_cast<double>(out.counts.walked)};
  }

 private:
  static std::uint64_t room_of(std::uint64_t edges) {
    const std::uint64_t percent = setting("GNSTOR_SUBGRAPH_PERCENT", 100);
    return percent >= 100 ? edges : edges / 100 * percent + 1;
  }

  support::on_memory place_;
  copied_subgraph<support::on_memory> subgraph_;
};

/// @param search called with what kernels see of the graph; returns a `search_outcome` and throws
/// if the result is wrong
template <bool Weighted, class Search>
run_figures run_graph(peer_graph& g, peer p, const Search& search) {
  switch (p) {
    case peer::array: return run_on_arrays<Weighted>(g, search, frames_share());
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

inline std::uint32_t scale() { return static_cast<std::uint32_t>(setting("GNSTOR_SCALE", 24)); }

/// Sources that searches start from, a round each; at most 8 of graphs above scale 24.
inline std::uint64_t source_count() {
  const std::uint64_t wanted = setting("GNSTOR_SOURCES", round_count());
  return scale() > 24 ? std::min<std::uint64_t>(wanted, 8) : wanted;
}

/// The graph that the next benchmarks run on: one at a time.
inline peer_graph& graph_of(bool uniform) {
  static std::unique_ptr<peer_graph> there;
  static bool is_uniform = false;
  if (there == nullptr || is_uniform != uniform) {
    there.reset();
    there = std::make_unique<peer_graph>(
        graph::kronecker_options{.scale = scale(),
                                 .degree = static_cast<unsigned>(setting("GNSTOR_DEGREE", 16)),
                                 .seed = setting("GNSTOR_SEED", 1),
                                 .uniform = uniform});
    is_uniform = uniform;
  }
  return *there;
}

inline void require_reads(const graph::search_outcome& out) {
  if (out.counts.failed != 0) throw std::runtime_error("reads failed");
}

inline constexpr figure_names edges{"G_edges_per_s", "bytes_per_edge"};

/// Searches of one graph that are verified, on whatever kernels see of it.
class verified_bfs {
 public:
  static constexpr bool weighted = false;

  explicit verified_bfs(peer_graph& g) : graph_(&g), program_(place_, g.vertices(), shape()) {}
  template <class View>
  graph::search_outcome search(std::uint32_t source, const View& view) {
    const auto out = program_.search(source, view, [](const auto&, auto) {});
    require_reads(out);
    check_bfs(*graph_, source, program_.data());
    return out;
  }

 private:
  peer_graph* graph_;
  support::on_memory place_;
  graph::bfs_search<support::on_memory> program_;
};

class verified_sssp {
 public:
  static constexpr bool weighted = true;

  explicit verified_sssp(peer_graph& g) : graph_(&g), program_(place_, g.vertices(), shape()) {}
  template <class View>
  graph::search_outcome search(std::uint32_t source, const View& view) {
    const auto out = program_.search(source, view, [](const auto&, auto) {});
    require_reads(out);
    check_sssp(*graph_, source, program_.data());
    return out;
  }

 private:
  peer_graph* graph_;
  support::on_memory place_;
  graph::sssp_search<support::on_memory> program_;
};

/// Searches on every peer, each round from another source.
/// @tparam Verified `verified_bfs` or `verified_sssp`
template <class Verified>
void search_on_peers(benchmark::State& state, bool uniform) {
  peer_graph& g = graph_of(uniform);
  Verified program(g);
  std::vector<double> steps;
  const auto from = [&](std::uint32_t round) {
    return [&, source = g.source(round)](const auto& view) {
      const auto out = program.search(source, view);
      steps.push_back(out.steps);
      return out;
    };
  };
  std::optional<copied_steps<Verified::weighted>> copied;  // where they take part
  compare_peers(
      state, edges, source_count(),
      [&](peer p, std::uint32_t k) { return run_graph<Verified::weighted>(g, p, from(k)); },
      [&](bool by_cores, std::uint32_t k) {
        if (!copied) copied.emplace(g);
        return copied->run(from(k), by_cores);
      });
  state.counters["steps"] = median(steps);
  state.counters["edges"] = static_cast<double>(g.edges());
}

inline void cc(benchmark::State& state, bool uniform) {
  peer_graph& g = graph_of(uniform);
  const auto right = spread_all_labels(g);
  support::on_memory place;
  graph::cc_search<support::on_memory> program(place, g.vertices(), shape());
  const auto search = [&](const auto& view) {
    const auto out = program.search(view, false);
    require_reads(out);
    check_cc(g, right->data(), program.data());
    return out;
  };
  std::optional<copied_steps<false>> copied;  // where they take part
  compare_peers(
      state, edges, round_count(),
      [&](peer p, std::uint32_t) { return run_graph<false>(g, p, search); },
      [&](bool by_cores, std::uint32_t) {
        if (!copied) copied.emplace(g);
        return copied->run(search, by_cores);
      });
  state.counters["edges"] = static_cast<double>(g.edges());
}

}  // namespace gnstor::benchmarks
