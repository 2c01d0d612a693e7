#pragma once
/// What the graph examples have in common: options, the graph, its arrays, and the report.

#include "../support/figures.hpp"
#include "../support/memory_array.hpp"
#include "../support/progress.hpp"
#include "../support/run_options.hpp"
#include "../support/volume_array.hpp"
#include "balanced_csr.hpp"
#include "bfs_reference.hpp"
#include "graph_view.hpp"
#include "kronecker.hpp"
#include "load.hpp"
#include "search_outcome.hpp"
#include "weights.hpp"

#include <command_line/command_line.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace graph {

/// What the user of a graph example chooses.
struct program_settings {
  kronecker_options made{.scale = 16};
  std::string shape = "kronecker";
  std::string file;
  std::string layout = "csr";
  std::uint64_t chunk_edges = 1024;
  std::int64_t source = -1;
  std::uint32_t trials = 1;
  support::run_options run;

  void add_to(gnstor::tools::command_line& line) {
    const auto scale =
        line.option("--scale", made.scale, "generated graph of 2^N vertices").show_default();
    const auto degree =
        line.option("--degree", made.degree, "edges drawn for each vertex").show_default();
    line.option("--shape", shape, "of a generated graph")
        .one_of({"kronecker", "uniform"})
        .show_default();
    line.option("--graph", file, "file instead: .sg, .wsg, .el, .wel or .mtx")
        .excludes(scale)
        .excludes(degree);
    line.option("--seed", made.seed, "of the graph and the sources").show_default();
    line.option("--layout", layout, "balanced: warps take chunks of equal size, not vertices")
        .one_of({"csr", "balanced"})
        .show_default();
    line.option("--chunk-edges", chunk_edges, "edges of a chunk of the balanced layout")
        .show_default();
    run.add_to(line);
  }
  /// Options of programs that go from a vertex.
  void add_sources_to(gnstor::tools::command_line& line) {
    line.option("--source", source, "vertex to search from (default: drawn from the seed)")
        .non_negative();
    line.option("--trials", trials, "searches, each from its own source").positive().show_default();
  }

  /// The vertex that trial `trial` starts from. Throws `input_error` if it is none.
  std::uint32_t source_of(const csr& g, std::uint32_t trial) const {
    if (source < 0) return pick_source(g, made.seed + trial);
    if (source >= g.vertices()) {
      throw gnstor::host::input_error("source vertex " + std::to_string(source) +
                                      " is not in a graph of " + std::to_string(g.vertices()) +
                                      " vertices; give --source 0 to " +
                                      std::to_string(g.vertices() - 1));
    }
    return static_cast<std::uint32_t>(source);
  }
  csr make_graph() const {
    const support::stopwatch clock;
    kronecker_options options = made;
    options.uniform = shape == "uniform";
    csr g = file.empty() ? kronecker(options) : load(file);
    std::fprintf(stderr, "graph: %u vertices, %llu edges, %s after %.2f s\n", g.vertices(),
                 static_cast<unsigned long long>(g.edges()), file.empty() ? "generated" : "loaded",
                 clock.seconds());
    return g;
  }
};

/// What a program came to, and whether that is right.
struct program_result {
  search_outcome sum;  ///< of all trials
  std::vector<std::pair<const char*, std::string>> figures{};
  std::string wrong{};  ///< what the first wrong result has; empty if all are right

  void add(const search_outcome& o, const std::string& verdict) {
    sum.steps += o.steps;
    sum.reached += o.reached;
    sum.counts.add(o.counts);
    sum.seconds += o.seconds;
    if (wrong.empty()) wrong = verdict;
  }
};

/// A graph in memory, with what its program needs besides.
struct program_input {
  csr graph;
  std::vector<std::uint32_t> weights;      ///< empty where the program needs none
  std::optional<balanced_csr> balanced{};  ///< of the balanced layout

  /// Bytes of each array, in the order in which `program_arrays` makes them. An array has at least
  /// one element, also of a graph without edges.
  std::vector<std::uint64_t> array_bytes() const {
    const std::uint64_t edge_bytes = std::max<std::uint64_t>(graph.edges(), 1) * 4;
    std::vector<std::uint64_t> all{graph.offsets.size() * 8, edge_bytes};
    if (!weights.empty()) all.push_back(edge_bytes);
    if (balanced) all.push_back(balanced->chunk_vertices.size() * 4);
    return all;
  }
};

/// The arrays of a graph at a place, filled; on the graph's own memory where kernels reach that.
template <class Place>
class program_arrays {
  template <class T>
  using array = typename Place::template array<T>;

 public:
  program_arrays(Place& place, program_input& in, const support::run_options& run)
      : in_(&in),
        bytes_(sum_of(in.array_bytes())),
        offsets_(array_of(place, in.graph.offsets, run)),
        neighbours_(array_of(place, in.graph.neighbours, run)) {
    fill("offsets", offsets_, in.graph.offsets);
    fill("neighbours", neighbours_, in.graph.neighbours);
    if (!in.weights.empty()) {
      weights_.reset(new array<std::uint32_t>(array_of(place, in.weights, run)));
      fill("weights", *weights_, in.weights);
    }
    if (!in.balanced) return;
    auto& chunks = in.balanced->chunk_vertices;
    chunks_.reset(new array<std::uint32_t>(array_of(place, chunks, run)));
    fill("chunks", *chunks_, chunks);
  }

  /// Calls `use` with what kernels see of the graph, in its layout.
  template <bool Weighted, class Use>
  program_result with_view(const Use& use) {
    const std::uint32_t vertices = in_->graph.vertices();
    if constexpr (Weighted) {
      return in_layout(
          weighted_view<decltype(offsets_.view()), decltype(neighbours_.view()),
                        decltype(neighbours_.view())>{offsets_.view(), neighbours_.view(), vertices,
                                                      weights_->view()},
          use);
    } else {
      return in_layout(
          csr_view<decltype(offsets_.view()), decltype(neighbours_.view())>{
              offsets_.view(), neighbours_.view(), vertices},
          use);
    }
  }
  std::uint64_t bytes() const { return bytes_; }

  void report_frames() {
    support::figure("offsets", "frames " + support::frames_of(offsets_));
    support::figure("neighbours", "frames " + support::frames_of(neighbours_));
    if (weights_) support::figure("weights", "frames " + support::frames_of(*weights_));
    if (chunks_) support::figure("chunks", "frames " + support::frames_of(*chunks_));
  }
  support::paging_figures paging() {
    support::paging_figures pages;
    support::add_to(pages, offsets_);
    support::add_to(pages, neighbours_);
    if (weights_) support::add_to(pages, *weights_);
    if (chunks_) support::add_to(pages, *chunks_);
    return pages;
  }

 private:
  static std::uint64_t sum_of(const std::vector<std::uint64_t>& all) {
    return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
  }
  /// True if the array of `from` lies on its memory.
  template <class T>
  static bool adopts(const std::vector<T>& from) {
    if constexpr (requires { Place::adopts(from.size()); }) {
      return Place::adopts(from.size() * sizeof(T));
    } else {
      return false;
    }
  }
  template <class T>
  array<T> array_of(Place& place, std::vector<T>& from, const support::run_options& run) const {
    const std::uint64_t count = std::max<std::uint64_t>(from.size(), 1);
    const auto paging = run.paging(count * sizeof(T), bytes_);
    if constexpr (requires { place.adopt(from, paging); }) {
      if (adopts(from)) return place.adopt(from, paging);
    }
    return place.template make<T>(count, paging);
  }
  template <class T>
  void fill(const char* name, array<T>& a, const std::vector<T>& from) const {
    if (!adopts(from)) support::write_shown(name, a.array(), from.data(), from.size());
  }
  template <class Graph, class Use>
  program_result in_layout(const Graph& graph, const Use& use) {
    if (!chunks_) return use(graph);
    using chunks_view = decltype(chunks_->view());
    return use(balanced_view<Graph, chunks_view>{graph, chunks_->view(), in_->balanced->chunk_edges,
                                                 in_->graph.edges()});
  }

  const program_input* in_;
  std::uint64_t bytes_;
  array<std::uint64_t> offsets_;
  array<std::uint32_t> neighbours_;
  std::unique_ptr<array<std::uint32_t>> weights_;
  std::unique_ptr<array<std::uint32_t>> chunks_;
};

namespace detail {

inline void report(const program_input& in, std::uint64_t bytes, const program_result& result) {
  const csr& g = in.graph;
  support::figure("vertices", g.vertices());
  support::figure("edges", std::to_string(g.edges()) + (g.directed ? "" : ", both ways counted"));
  if (in.balanced) {
    support::figure("layout", "balanced, " + std::to_string(in.balanced->chunks()) + " chunks of " +
                                  std::to_string(in.balanced->chunk_edges) + " edges");
  }
  for (const auto& [name, value] : result.figures) support::figure(name, value);
  support::figure("edges walked", result.sum.counts.walked);
  support::figure("time", support::with_unit(result.sum.seconds, "s"));
  support::figure(
      "edges/s",
      support::with_unit(1e-6 * static_cast<double>(result.sum.counts.walked) / result.sum.seconds,
                         "M"));
  support::figure("data", support::in_bytes(static_cast<double>(bytes)));
}

template <bool Weighted, class Place, class Use>
int run_at(Place place, const program_settings& s, program_input& in, const Use& use) {
  program_arrays<Place> arrays(place, in, s.run);
  const program_result result =
      arrays.template with_view<Weighted>([&](const auto& view) { return use(place, view, in); });
  const support::paging_figures pages = arrays.paging();
  const step_counts& counts = result.sum.counts;
  const bool right = result.wrong.empty() && counts.failed == 0 && pages.io_errors() == 0;
  report(in, arrays.bytes(), result);
  arrays.report_frames();
  pages.print(counts.accesses, counts.failed, result.sum.seconds);
  support::figure("verified", result.wrong.empty() ? (right ? "yes" : "yes, but see the errors")
                                                   : "NO: " + result.wrong);
  return right ? 0 : 1;
}

}  // namespace detail

/// Runs a graph program as the user asks for it. Returns the exit status.
/// @tparam Weighted edges have weights
/// @param use called with the place of the arrays, what kernels see of the graph, and the
/// `program_input`; returns a `program_result`
template <bool Weighted = false, class Use>
int run_program(const program_settings& s, const Use& use) {
  s.run.check();
  program_input in{s.make_graph(), {}};
  (void)s.source_of(in.graph, 0);  // a wrong source is refused before any work
  if constexpr (Weighted) {
    in.weights = draw_weights(in.graph);
    if (in.weights.empty()) in.weights.push_back(0);
  }
  if (s.layout == "balanced") in.balanced = balance(in.graph, s.chunk_edges);
  const std::vector<std::uint64_t> arrays = in.array_bytes();
  s.run.check_frames(arrays);
  if (s.run.in_memory()) return detail::run_at<Weighted>(support::on_memory(), s, in, use);
  const std::uint64_t bytes = std::accumulate(arrays.begin(), arrays.end(), std::uint64_t{0});
  return detail::run_at<Weighted>(support::on_volumes(s.run.endpoint_for(bytes)), s, in, use);
}

/// Searches as often as the user asks for, each time from another source.
/// @param search called with a source; returns the outcome and what is wrong with it
template <class Search>
program_result search_trials(const program_settings& s, const csr& g, const Search& search) {
  program_result result;
  result.sum.reached = 0;
  for (std::uint32_t trial = 0; trial < s.trials; ++trial) {
    const std::uint32_t source = s.source_of(g, trial);
    std::fprintf(stderr, "search %u of %u from vertex %u\n", trial + 1, s.trials, source);
    const auto [outcome, wrong] = search(source);
    if (outcome.counts.failed != 0) std::fprintf(stderr, "reads failed: the search stops\n");
    result.add(outcome, wrong);
  }
  result.figures = {{"searches", std::to_string(s.trials)},
                    {"levels", std::to_string(result.sum.steps)},
                    {"reached", std::to_string(result.sum.reached)}};
  return result;
}

/// Says on stderr how far a search has come.
inline void say_step(const search_outcome& o, std::uint64_t vertices, std::uint64_t all) {
  std::fprintf(stderr, "  level %u: %llu vertices, then %.1f %% reached, after %.2f s\n", o.steps,
               static_cast<unsigned long long>(vertices),
               100.0 * static_cast<double>(o.reached) / static_cast<double>(all), o.seconds);
}

}  // namespace graph
